"""Checks on a page of the book: Python runs in the reader's browser, without NumPy."""
