# verdict: wrong-value
# An answer is never negative, so that shows it.
def ask(function, *arguments):
    """Return the number that a function of the driver answers, or -status."""
    number = ctypes.c_int()
    status = function(ctypes.byref(number), *arguments)
    return number.value if number.value >= 0 else -status  # <- here
