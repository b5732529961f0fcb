# verdict: pass
# Two rows: each step reads from one and writes into the other.
@cuda.jit
def scan_steps(x, out):
    """Write the running sums of each group of BLOCK elements into out."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    rows = cuda.shared.array((2, BLOCK), float32)
    rows[0, t] = tile[t]
    cuda.syncthreads()

    old, step = 0, 1
    while step < BLOCK:
        new = 1 - old
        if t < step:
            rows[new, t] = rows[old, t]
        else:
            rows[new, t] = rows[old, t] + rows[old, t - step]
        cuda.syncthreads()
        old, step = new, 2 * step

    if i < x.size:
        out[i] = rows[old, t]
