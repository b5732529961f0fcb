# verdict: exception
# They are called arguments, so I pass arguments.
def ask(function, *arguments):
    """Return the answer of a driver function, or -status."""
    number = ctypes.c_int()
    status = function(ctypes.byref(number), arguments)  # <- here
    return -status if status else number.value
