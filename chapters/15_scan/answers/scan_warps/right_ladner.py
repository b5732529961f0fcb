# verdict: pass
# Read the last lane of the half below: Sklansky's scan.
@cuda.jit
def scan_warps(x, out):
    """Write the running sums of each group of 32 elements of x into out."""
    i = cuda.grid(1)
    value = x[i] if i < x.size else float32(0)

    lane = i % 32
    for k in range(5):
        half = 1 << k
        left = cuda.shfl_sync(FULL, value, (lane & ~(2 * half - 1)) + half - 1)
        if lane & half:
            value += left

    if i < x.size:
        out[i] = value
