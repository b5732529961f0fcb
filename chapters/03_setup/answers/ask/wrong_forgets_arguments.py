# verdict: exception
# The pointer is the argument.
def ask(function, *arguments):
    """Return the number that a function of the driver answers, or -status."""
    number = ctypes.c_int()
    status = function(ctypes.byref(number))  # <- here
    return -status if status else number.value
