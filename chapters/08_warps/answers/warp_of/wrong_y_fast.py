# verdict: wrong-value
# Count down the columns first, as with (row, column).
def warp_of(tx, ty, width):
    """Return (warp, lane) of thread (tx, ty) in a block of that width."""
    number = ty + tx * width
    return number // 32, number % 32  # <- here
