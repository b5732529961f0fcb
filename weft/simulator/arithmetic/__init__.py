"""Arithmetic as Numba does it on a GPU: the types of results, and their values."""
