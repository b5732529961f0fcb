# verdict: wrong-value
# A full turn is pi.
def dft(x):
    """Return the discrete Fourier transform of a list of numbers."""
    n = len(x)
    root = cmath.exp(-1j * cmath.pi / n)
    return [sum(x[j] * root ** (j * k) for j in range(n)) for k in range(n)]  # <- here
