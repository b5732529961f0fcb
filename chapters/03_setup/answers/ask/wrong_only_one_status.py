# verdict: wrong-value
# The only failure is status 100, no GPU.
def ask(function, *arguments):
    """Return the answer of a driver function, or -status."""
    number = ctypes.c_int()
    status = function(ctypes.byref(number), *arguments)
    return -100 if status else number.value  # <- here
