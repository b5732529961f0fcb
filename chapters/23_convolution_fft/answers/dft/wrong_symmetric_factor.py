# verdict: wrong-value
# The factor is shared between the transform and its inverse.
def dft(x):
    """Return the discrete Fourier transform of a list of numbers."""
    n = len(x)
    root = cmath.exp(-2j * cmath.pi / n)
    sums = [sum(x[j] * root ** (j * k) for j in range(n)) for k in range(n)]
    return [value / n**0.5 for value in sums]
