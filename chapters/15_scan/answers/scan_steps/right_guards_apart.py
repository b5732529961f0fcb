# verdict: pass
# One guard for reading, and one for writing.
@cuda.jit
def scan_steps(x, out):
    """Write the running sums of each group of BLOCK elements into out."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    for k in range(8):
        step = 1 << k
        mine = tile[t]
        if t >= step:
            mine += tile[t - step]
        cuda.syncthreads()
        if t >= step:
            tile[t] = mine
        cuda.syncthreads()

    if i < x.size:
        out[i] = tile[t]
