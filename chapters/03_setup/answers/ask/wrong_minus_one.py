# verdict: wrong-value
# -1, as many a C library does.
def ask(function, *arguments):
    """Return the answer of a driver function, or -status."""
    number = ctypes.c_int()
    status = function(ctypes.byref(number), *arguments)
    if status:
        return -1  # <- here
    return number.value
