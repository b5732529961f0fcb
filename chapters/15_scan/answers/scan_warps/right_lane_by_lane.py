# verdict: pass
# One lane after another broadcasts its value.
@cuda.jit
def scan_warps(x, out):
    """Write the running sums of each group of 32 elements of x into out."""
    i = cuda.grid(1)
    value = x[i] if i < x.size else float32(0)

    upto = float32(0)
    for k in range(32):
        other = cuda.shfl_sync(FULL, value, k)
        if k <= cuda.laneid:
            upto += other

    if i < x.size:
        out[i] = upto
