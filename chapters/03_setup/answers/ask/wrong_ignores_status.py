# verdict: wrong-value
# The status is for debugging.
def ask(function, *arguments):
    """Return the answer of a driver function, or -status."""
    number = ctypes.c_int()
    function(ctypes.byref(number), *arguments)
    return number.value  # <- here
