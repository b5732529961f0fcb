"""A stand-in for Numba where Numba is not installed.

It provides the names that a kernel's file imports, and compiles nothing.
`weft.simulator.install` makes imports of Numba find it.
"""
