# verdict: exception
# Four numbers, as on paper.
def dft(x):
    """Return the discrete Fourier transform of a list of numbers."""
    a, b, c, d = x  # <- here
    p, q, r, s = a + c, a - c, b + d, -1j * (b - d)
    return [p + r, q + s, p - r, q - s]
