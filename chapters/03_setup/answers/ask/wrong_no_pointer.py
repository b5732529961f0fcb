# verdict: exception
# The function writes to the variable, so I pass the variable.
def ask(function, *arguments):
    """Return the answer of a driver function, or -status."""
    number = ctypes.c_int()
    status = function(number, *arguments)  # <- here
    return -status if status else number.value
