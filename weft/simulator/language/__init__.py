"""The learner's Python: what Numba accepts of it, and how it is made to run here."""
