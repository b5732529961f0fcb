# verdict: type
# The variable holds the number, so I return the variable.
def ask(function, *arguments):
    """Return the answer of a driver function, or -status."""
    number = ctypes.c_int()
    status = function(ctypes.byref(number), *arguments)
    return -status if status else number  # <- here
