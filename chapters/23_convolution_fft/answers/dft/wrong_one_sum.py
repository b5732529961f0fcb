# verdict: shape
# Return the sum of everything.
def dft(x):
    """Return the discrete Fourier transform of a list of numbers."""
    n = len(x)
    total = 0
    for k in range(n):
        for j in range(n):
            total += x[j] * cmath.exp(-2j * cmath.pi * j * k / n)
    return total  # <- here
