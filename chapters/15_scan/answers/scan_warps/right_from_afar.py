# verdict: pass
# Take the distances in the opposite order.
@cuda.jit
def scan_warps(x, out):
    """Write the running sums of each group of 32 elements of x into out."""
    i = cuda.grid(1)
    value = x[i] if i < x.size else float32(0)

    for delta in (16, 8, 4, 2, 1):
        left = cuda.shfl_up_sync(FULL, value, delta)
        if cuda.laneid >= delta:
            value += left

    if i < x.size:
        out[i] = value
