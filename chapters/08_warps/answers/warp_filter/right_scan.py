# verdict: pass
# Count by a scan with shuffles instead of a vote.
@cuda.jit
def warp_filter(x, out, counts):
    """Move positive elements to the front of their group of 32; count them."""
    i = cuda.grid(1)
    keep = i < x.size and x[i] > float32(0)

    lane = cuda.laneid
    mine = 1 if keep else 0
    upto = mine
    for delta in (1, 2, 4, 8, 16):
        other = cuda.shfl_up_sync(FULL, upto, delta)
        if lane >= delta:
            upto += other
    if keep:
        out[i - lane + upto - 1] = x[i]
    total = cuda.shfl_sync(FULL, upto, 31)
    if lane == 0 and i < x.size:
        counts[i // 32] = total
