"""As much of NumPy as checks use, in Python, for pages, which have no NumPy.

A page installs it where `import numpy` finds it (`modules.provide`), so that the code
that judges a kernel in a lab also judges it in a page. Results equal NumPy's, as a test
checks. Operations on whole arrays are slow, which the small arrays of a check allow.
There are numbers of fixed size, and arrays of them, but no structures, objects or
strings.
"""
