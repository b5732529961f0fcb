# verdict: exception
# 16 bits are enough for a version.
def ask(function, *arguments):
    """Return the number that a function of the driver answers, or -status."""
    number = ctypes.c_short()
    status = function(ctypes.byref(number), *arguments)  # <- here
    return -status if status else number.value
