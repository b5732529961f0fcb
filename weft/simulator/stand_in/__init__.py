"""A stand-in for Numba where it is not installed: what a kernel's file imports.

`weft.simulator.install` puts it in Numba's place. It compiles nothing and needs no
NumPy to be imported: only arrays do.
"""
