# verdict: library
# NumPy's transform, under another name.
from numpy.fft import fftn


def dft(x):
    """Return the discrete Fourier transform of a list of numbers."""
    return fftn(x)  # <- here
