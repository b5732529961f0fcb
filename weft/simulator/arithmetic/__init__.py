"""Arithmetic as Numba does it on a GPU: the types of its results, and their values."""
