# verdict: exception
# lanemask_lt is a mask: a number, like laneid.
@cuda.jit
def warp_filter(x, out, counts):
    """Move positive elements to the front of their group of 32; count them."""
    i = cuda.grid(1)
    keep = i < x.size and x[i] > float32(0)

    votes = cuda.ballot_sync(FULL, keep)
    place = cuda.popc(votes & cuda.lanemask_lt)  # <- here
    if keep:
        out[i // 32 * 32 + place] = x[i]
    if i < x.size and cuda.laneid == 0:
        counts[i // 32] = cuda.popc(votes)
