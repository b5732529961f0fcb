# verdict: float64
# Where there is nothing to add, use 0.0.
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
        left = tile[t - step] if t >= step else 0.0  # <- here
        cuda.syncthreads()
        tile[t] += left
        cuda.syncthreads()
        step *= 2

    if i < x.size:
        out[i] = tile[t]
