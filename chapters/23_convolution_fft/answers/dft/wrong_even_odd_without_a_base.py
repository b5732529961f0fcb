# verdict: exception
# Halve, and halve again, and so on.
def dft(x):
    """Return the discrete Fourier transform of a list of numbers."""
    n = len(x)
    even, odd = dft(x[::2]), dft(x[1::2])  # <- here
    root = cmath.exp(-2j * cmath.pi / n)
    turned = [root**k * odd[k] for k in range(n // 2)]
    return [e + o for e, o in zip(even, turned)] + [e - o for e, o in zip(even, turned)]
