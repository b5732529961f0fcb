# verdict: wrong-value
# A warp is 32 threads with consecutive x.
def warp_of(tx, ty, width):
    """Return (warp, lane) of thread (tx, ty) in a block of that width."""
    return tx // 32, tx % 32  # <- here
