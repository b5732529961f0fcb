# verdict: wrong-value
# Frequency k counts k times.
def dft(x):
    """Return the discrete Fourier transform of a list of numbers."""
    n = len(x)
    root = cmath.exp(-2j * cmath.pi / n)
    return [sum(x[j] * root**j * k for j in range(n)) for k in range(n)]
