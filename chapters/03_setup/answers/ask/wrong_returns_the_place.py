# verdict: type
# The place holds the number.
def ask(function, *arguments):
    """Return the number that a function of the driver answers, or -status."""
    number = ctypes.c_int()
    status = function(ctypes.byref(number), *arguments)
    return -status if status else number  # <- here
