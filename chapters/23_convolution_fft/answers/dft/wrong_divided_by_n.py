# verdict: wrong-value
# It is an average, so divide by n.
def dft(x):
    """Return the discrete Fourier transform of a list of numbers."""
    n = len(x)
    root = cmath.exp(-2j * cmath.pi / n)
    return [  # <- here
        sum(x[j] * root ** (j * k) for j in range(n)) / n for k in range(n)
    ]
