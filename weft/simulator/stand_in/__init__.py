"""A stand-in for Numba where Numba is not installed: what a kernel's file imports.

`weft.simulator.install` puts it in Numba's place. It compiles nothing. Importing it
does not require NumPy; only arrays do.
"""
