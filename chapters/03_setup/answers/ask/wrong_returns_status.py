# verdict: wrong-value
# What a function returns is its answer.
def ask(function, *arguments):
    """Return the answer of a driver function, or -status."""
    number = ctypes.c_int()
    return function(ctypes.byref(number), *arguments)  # <- here
