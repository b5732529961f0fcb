# verdict: exception
# 16 bits are enough for a version.
def ask(function, *arguments):
    """Return the answer of a driver function, or -status."""
    number = ctypes.c_short()
    status = function(ctypes.byref(number), *arguments)  # <- here
    return -status if status else number.value
