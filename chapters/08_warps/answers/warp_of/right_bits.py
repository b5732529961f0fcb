# verdict: pass
# 32 is 2^5: the lane is the last five bits, the warp is the rest.
def warp_of(tx, ty, width):
    """Return (warp, lane) of thread (tx, ty) in a block of that width."""
    number = width * ty + tx
    return number >> 5, number & 31
