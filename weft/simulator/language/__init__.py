"""The Python of kernels: which part Numba accepts, and how it is made to run here."""
