"""As much of NumPy as checks use, in Python, for a page: it has no NumPy.

A page puts it where `import numpy` finds it (`modules.provide`), so that the code that
judges a kernel in a lab judges it in a page. Results are NumPy's, a test compares them;
what takes whole arrays is slow, which the small arrays of a check allow. There are
numbers of fixed size, and arrays of them; no structures, objects or texts.
"""
