# verdict: wrong-value
# Return the status as it is.
def ask(function, *arguments):
    """Return the answer of a driver function, or -status."""
    number = ctypes.c_int()
    status = function(ctypes.byref(number), *arguments)
    return status or number.value  # <- here
