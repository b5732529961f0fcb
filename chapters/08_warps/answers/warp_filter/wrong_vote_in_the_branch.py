# verdict: warp
# Only lanes that keep something vote, and the others wait for them.
@cuda.jit
def warp_filter(x, out, counts):
    """Move positive elements to the front of their group of 32; count them."""
    i = cuda.grid(1)
    keep = i < x.size and x[i] > float32(0)

    votes = 0
    if keep:
        votes = cuda.ballot_sync(FULL, keep)  # <- here
        place = cuda.popc(votes & cuda.lanemask_lt())
        out[i - cuda.laneid + place] = x[i]
    cuda.syncwarp()  # <- here
    if cuda.laneid == 0 and i < x.size:
        counts[i // 32] = cuda.popc(votes)
