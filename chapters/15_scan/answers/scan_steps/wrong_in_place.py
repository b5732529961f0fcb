# verdict: race
# A step is an addition.
@cuda.jit
def scan_steps(x, out):
    """Write the running sums of each group of BLOCK elements into out."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    step = 1
    while step < BLOCK:
        if t >= step:
            tile[t] += tile[t - step]  # <- here
        cuda.syncthreads()
        step *= 2

    if i < x.size:
        out[i] = tile[t]
