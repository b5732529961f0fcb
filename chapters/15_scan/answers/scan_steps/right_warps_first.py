# verdict: pass
# Shuffles within a warp, and a loop over the warps before.
@cuda.jit
def scan_steps(x, out):
    """Write the running sums of each group of BLOCK elements into out."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    value = tile[t]
    for d in (1, 2, 4, 8, 16):
        left = cuda.shfl_up_sync(FULL, value, d)
        if cuda.laneid >= d:
            value += left
    cuda.syncthreads()
    tile[t] = value
    cuda.syncthreads()
    for w in range(31, t // 32 * 32, 32):
        value += tile[w]

    if i < x.size:
        out[i] = value
