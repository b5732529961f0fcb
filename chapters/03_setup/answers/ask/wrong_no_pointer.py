# verdict: exception
# The place is what it writes to, so I pass the place.
def ask(function, *arguments):
    """Return the number that a function of the driver answers, or -status."""
    number = ctypes.c_int()
    status = function(number, *arguments)  # <- here
    return -status if status else number.value
