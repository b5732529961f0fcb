# verdict: pass
# An array is passed by address.
def ask(function, *arguments):
    """Return the answer of a driver function, or -status."""
    place = (ctypes.c_int * 1)()
    status = function(place, *arguments)
    return -status if status else place[0]
