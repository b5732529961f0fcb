# verdict: type
# Divide with /, which gives a float.
def warp_of(tx, ty, width):
    """Return (warp, lane) of thread (tx, ty) in a block of that width."""
    number = tx + ty * width
    return number / 32, number % 32  # <- here
