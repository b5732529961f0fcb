# verdict: pass
# A shift makes the mask of the lanes below; the last lane with an element counts.
@cuda.jit
def warp_filter(x, out, counts):
    """Move positive elements to the front of their group of 32; count them."""
    i = cuda.grid(1)
    keep = i < x.size and x[i] > float32(0)

    lane = cuda.laneid
    votes = cuda.ballot_sync(FULL, keep)
    below = cuda.popc(votes & ((1 << lane) - 1))
    if keep:
        out[i // 32 * 32 + below] = x[i]
        below += 1
    if i < x.size and (lane == 31 or i == x.size - 1):
        counts[i // 32] = below
