# verdict: wrong-value
# -1, as many a C library does.
def ask(function, *arguments):
    """Return the number that a function of the driver answers, or -status."""
    number = ctypes.c_int()
    status = function(ctypes.byref(number), *arguments)
    if status:
        return -1  # <- here
    return number.value
