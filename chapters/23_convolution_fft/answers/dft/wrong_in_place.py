# verdict: wrong-value
# The list is there already, so store into it.
def dft(x):
    """Return the discrete Fourier transform of a list of numbers."""
    n = len(x)
    root = cmath.exp(-2j * cmath.pi / n)
    for k in range(n):
        x[k] = sum(x[j] * root ** (j * k) for j in range(n))
    return x
