# verdict: wrong-value
# 100 is the status for no GPU.
def ask(function, *arguments):
    """Return the number that a function of the driver answers, or -status."""
    number = ctypes.c_int()
    status = function(ctypes.byref(number), *arguments)
    return -100 if status else number.value  # <- here
