# verdict: pass
# Halve as long as possible, and then use the sum.
def dft(x):
    """Return the discrete Fourier transform of a list of numbers."""
    n = len(x)
    if n % 2:
        root = cmath.exp(-2j * cmath.pi / n)
        return [sum(x[j] * root ** (j * k) for j in range(n)) for k in range(n)]
    even, odd = dft(x[::2]), dft(x[1::2])
    turned = [cmath.exp(-2j * cmath.pi * k / n) * v for k, v in enumerate(odd)]
    pairs = list(zip(even, turned, strict=True))
    return [e + t for e, t in pairs] + [e - t for e, t in pairs]
