# verdict: loads
# Every lane adds up what comes before it.
@cuda.jit
def scan_warps(x, out):
    """Write the running sums of each group of 32 elements of x into out."""
    i = cuda.grid(1)
    value = x[i] if i < x.size else float32(0)

    for k in range(i - cuda.laneid, min(i, x.size)):
        value += x[k]

    if i < x.size:
        out[i] = value
