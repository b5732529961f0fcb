"""Infer the number types of a kernel's expressions and variables, as Numba does."""
