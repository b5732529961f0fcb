# verdict: wrong-value
# Real numbers in, real numbers out.
def dft(x):
    """Return the discrete Fourier transform of a list of numbers."""
    n = len(x)
    root = cmath.exp(-2j * cmath.pi / n)
    found = [sum(x[j] * root ** (j * k) for j in range(n)) for k in range(n)]
    return [value.real for value in found]  # <- here
