# verdict: pass
# An array is passed by its address.
def ask(function, *arguments):
    """Return the number that a function of the driver answers, or -status."""
    place = (ctypes.c_int * 1)()
    status = function(place, *arguments)
    return -status if status else place[0]
