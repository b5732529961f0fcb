# verdict: wrong-value
# The mask includes the lane's own bit, so every place is one too far.
@cuda.jit
def warp_filter(x, out, counts):
    """Move positive elements to the front of their group of 32; count them."""
    i = cuda.grid(1)
    keep = i < x.size and x[i] > float32(0)

    votes = cuda.ballot_sync(FULL, keep)
    mask = (2 << cuda.laneid) - 1
    if keep:
        out[i - cuda.laneid + cuda.popc(votes & mask)] = x[i]
    if cuda.laneid == 0 and i < x.size:
        counts[i // 32] = cuda.popc(votes)
