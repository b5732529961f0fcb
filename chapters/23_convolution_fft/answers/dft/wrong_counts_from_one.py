# verdict: wrong-value
# j and k go from 1 to n.
def dft(x):
    """Return the discrete Fourier transform of a list of numbers."""
    n = len(x)
    root = cmath.exp(-2j * cmath.pi / n)
    return [  # <- here
        sum(x[j - 1] * root ** (j * k) for j in range(1, n + 1))
        for k in range(1, n + 1)
    ]
