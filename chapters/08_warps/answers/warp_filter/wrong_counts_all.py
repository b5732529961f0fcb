# verdict: wrong-value
# Counts the votes of the whole warp for the place.
@cuda.jit
def warp_filter(x, out, counts):
    """Move the positive elements of each 32 to the front; count them."""
    i = cuda.grid(1)
    keep = i < x.size and x[i] > float32(0)

    votes = cuda.ballot_sync(FULL, keep)
    place = cuda.popc(votes) - 1
    if keep:
        out[i - cuda.laneid + place] = x[i]
    if cuda.laneid == 0 and i < x.size:
        counts[i // 32] = cuda.popc(votes)
