"""The learner's Python: which part Numba accepts, and how it is made to run here."""
