# verdict: pass
# Multiply a matrix of roots by the list.
def dft(x):
    """Return the discrete Fourier transform of a list of numbers."""
    n = len(x)
    places = np.arange(n)
    matrix = np.exp(-2j * np.pi * (np.outer(places, places) % n) / n)
    return matrix @ np.array(x)
