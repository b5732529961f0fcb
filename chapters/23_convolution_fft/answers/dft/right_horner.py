# verdict: pass
# Horner: a polynomial in the root, from its end.
def dft(x):
    """Return the discrete Fourier transform of a list of numbers."""
    n = len(x)
    found = []
    for k in range(n):
        root = cmath.exp(-2j * cmath.pi * k / n)
        value = 0j
        for number in reversed(x):
            value = value * root + number
        found.append(value)
    return found
