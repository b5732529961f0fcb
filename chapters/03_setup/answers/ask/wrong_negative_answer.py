# verdict: wrong-value
# An answer is never negative, so a negative number means failure.
def ask(function, *arguments):
    """Return the answer of a driver function, or -status."""
    number = ctypes.c_int()
    status = function(ctypes.byref(number), *arguments)
    return number.value if number.value >= 0 else -status  # <- here
