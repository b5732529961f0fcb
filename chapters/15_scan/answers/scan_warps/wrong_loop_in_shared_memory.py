# verdict: loads
# Each lane adds up the values up to its own, in shared memory.
@cuda.jit
def scan_warps(x, out):
    """Write the running sums of each group of 32 elements of x into out."""
    tile = cuda.shared.array(64, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncwarp()

    total = float32(0)
    for k in range(t // 32 * 32, t + 1):
        total += tile[k]  # <- here
    if i < x.size:
        out[i] = total
