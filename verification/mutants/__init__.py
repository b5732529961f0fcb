"""Mutants: right kernels changed in one place, to see which ones the checks reject.

    python -m verification.mutants LAB ...

makes mutants of the right kernels of some labs, finds out without the checks which ones
are really wrong, runs the labs' own checks on them, and writes both results to
results/mutants/. See `__main__` for the options.
"""
