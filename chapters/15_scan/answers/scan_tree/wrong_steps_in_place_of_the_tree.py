# verdict: flops
# Hillis and Steele's scan, shifted at the end; it needs no way up.
@cuda.jit
def scan_tree(x, out):
    """Write the exclusive sums of each group of BLOCK elements into out."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    step = 1
    while step < BLOCK:
        left = tile[t - step] if t >= step else float32(0)
        cuda.syncthreads()
        tile[t] += left  # <- here
        cuda.syncthreads()
        step *= 2

    if i < x.size:
        out[i] = tile[t - 1] if t > 0 else float32(0)
