"""Mutants: right kernels changed in one place, to see which of them the checks refuse.

    python -m verification.mutants LAB ...

makes mutants of the right kernels of some labs, finds out which are really wrong by
means other than the checks, asks the labs' own checks, and writes both down in
results/mutants/. See `__main__` for the options.
"""
