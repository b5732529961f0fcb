# verdict: library
# NumPy has it.
def dft(x):
    """Return the discrete Fourier transform of a list of numbers."""
    return np.fft.fft(x)  # <- here
