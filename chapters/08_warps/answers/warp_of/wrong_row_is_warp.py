# verdict: wrong-value
# Each row of the block is a warp.
def warp_of(tx, ty, width):
    """Return (warp, lane) of thread (tx, ty) in a block of that width."""
    return ty, tx  # <- here
