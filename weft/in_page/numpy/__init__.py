"""The part of NumPy that the checks use, written in Python for pages without NumPy.

A page installs it where `import numpy` finds it (`modules.provide`), so that the code
that judges a kernel in a lab also judges it on a page. A test compares its results with
NumPy's. Operations on whole arrays are slow, but the arrays of a check are small. There
are numbers of fixed size, and arrays of them, but no structures, objects or strings.
"""
