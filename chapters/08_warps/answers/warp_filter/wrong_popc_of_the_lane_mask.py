# verdict: wrong-value
# Count the lanes below, not the votes below; the gaps stay.
@cuda.jit
def warp_filter(x, out, counts):
    """Move positive elements to the front of their group of 32; count them."""
    i = cuda.grid(1)
    keep = i < x.size and x[i] > float32(0)

    votes = cuda.ballot_sync(FULL, keep)
    place = cuda.popc(cuda.lanemask_lt())
    if keep:
        out[i - cuda.laneid + place] = x[i]
    if cuda.laneid == 0 and i < x.size:
        counts[i // 32] = cuda.popc(votes)
