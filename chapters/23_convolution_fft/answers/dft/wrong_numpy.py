# verdict: library
# NumPy has a function for it.
def dft(x):
    """Return the discrete Fourier transform of a list of numbers."""
    return np.fft.fft(x)  # <- here
