# verdict: shape
# The answer is the number in the block.
def warp_of(tx, ty, width):
    """Return (warp, lane) of thread (tx, ty) in a block of that width."""
    return tx + ty * width  # <- here
