# verdict: exception
# The pointer is the argument.
def ask(function, *arguments):
    """Return the answer of a driver function, or -status."""
    number = ctypes.c_int()
    status = function(ctypes.byref(number))  # <- here
    return -status if status else number.value
