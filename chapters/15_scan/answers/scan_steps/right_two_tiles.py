# verdict: pass
# Two tiles take turns, with one barrier per step.
@cuda.jit
def scan_steps(x, out):
    """Write the running sums of each group of BLOCK elements into out."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    other = cuda.shared.array(BLOCK, float32)
    mine = tile[t]
    step = 1
    while step < BLOCK:
        if t >= step:
            mine += tile[t - step]
        other[t] = mine
        cuda.syncthreads()
        step *= 2
        if t >= step:
            mine += other[t - step]
        tile[t] = mine
        cuda.syncthreads()
        step *= 2

    if i < x.size:
        out[i] = tile[t]
