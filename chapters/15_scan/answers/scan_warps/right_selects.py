# verdict: pass
# A while loop, and zero for lanes that may not add.
@cuda.jit
def scan_warps(x, out):
    """Write the running sums of each group of 32 elements of x into out."""
    i = cuda.grid(1)
    value = x[i] if i < x.size else float32(0)

    step = 1
    while step < 32:
        left = cuda.shfl_up_sync(FULL, value, step)
        value += left if i % 32 >= step else float32(0)
        step *= 2

    if i < x.size:
        out[i] = value
