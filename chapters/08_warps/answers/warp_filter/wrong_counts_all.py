# verdict: wrong-value
# The place is the number of votes in the whole warp, minus one.
@cuda.jit
def warp_filter(x, out, counts):
    """Move positive elements to the front of their group of 32; count them."""
    i = cuda.grid(1)
    keep = i < x.size and x[i] > float32(0)

    votes = cuda.ballot_sync(FULL, keep)
    place = cuda.popc(votes) - 1
    if keep:
        out[i - cuda.laneid + place] = x[i]
    if cuda.laneid == 0 and i < x.size:
        counts[i // 32] = cuda.popc(votes)
