# verdict: pass
# A pointer object, and an if.
def ask(function, *arguments):
    """Return the answer of a driver function, or -status."""
    place = ctypes.c_int(0)
    status = function(ctypes.pointer(place), *arguments)
    if status != 0:
        return -status
    return place.value
