# verdict: wrong-value
# Lane delta is the first that has to add.
@cuda.jit
def scan_warps(x, out):
    """Write the running sums of each group of 32 elements of x into out."""
    i = cuda.grid(1)
    value = x[i] if i < x.size else float32(0)

    for delta in (1, 2, 4, 8, 16):
        left = cuda.shfl_up_sync(FULL, value, delta)
        if cuda.laneid > delta:
            value += left

    if i < x.size:
        out[i] = value
