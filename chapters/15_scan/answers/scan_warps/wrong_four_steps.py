# verdict: wrong-value
# 1 + 2 + 4 + 8 lanes, and my own: that is all of them.
@cuda.jit
def scan_warps(x, out):
    """Write the running sums of each group of 32 elements of x into out."""
    i = cuda.grid(1)
    value = x[i] if i < x.size else float32(0)

    for delta in (1, 2, 4, 8):
        left = cuda.shfl_up_sync(FULL, value, delta)
        if cuda.laneid >= delta:
            value += left

    if i < x.size:
        out[i] = value
