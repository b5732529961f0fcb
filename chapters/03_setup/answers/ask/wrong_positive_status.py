# verdict: wrong-value
# Hand the status on.
def ask(function, *arguments):
    """Return the number that a function of the driver answers, or -status."""
    number = ctypes.c_int()
    status = function(ctypes.byref(number), *arguments)
    return status or number.value  # <- here
