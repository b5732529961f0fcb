# verdict: warp
# The lanes that are in the branch are the vote.
@cuda.jit
def warp_filter(x, out, counts):
    """Move positive elements to the front of their group of 32; count them."""
    i = cuda.grid(1)
    keep = i < x.size and x[i] > float32(0)

    if keep:
        votes = cuda.activemask()  # <- here
        place = cuda.popc(votes & cuda.lanemask_lt())
        out[i - cuda.laneid + place] = x[i]
        if place == 0:
            counts[i // 32] = cuda.popc(votes)
