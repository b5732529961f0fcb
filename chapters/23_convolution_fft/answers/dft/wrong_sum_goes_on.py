# verdict: wrong-value
# The sum begins at 0.
def dft(x):
    """Return the discrete Fourier transform of a list of numbers."""
    n = len(x)
    result = []
    total = 0
    for k in range(n):
        for j in range(n):
            total += x[j] * cmath.exp(-2j * cmath.pi * j * k / n)
        result.append(total)
    return result  # <- here
