# verdict: wrong-value
# Sum k belongs to x[k].
def dft(x):
    """Return the discrete Fourier transform of a list of numbers."""
    n = len(x)
    root = cmath.exp(-2j * cmath.pi / n)
    return [sum(x[k] * root ** (j * k % n) for j in range(n)) for k in range(n)]
