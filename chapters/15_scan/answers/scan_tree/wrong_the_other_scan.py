# verdict: loads
# Hillis and Steele: the same sums, less to think about.
@cuda.jit
def scan_tree(x, out):
    """Write the exclusive sums of each group of BLOCK elements into out."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    gap = 1
    while gap < BLOCK:
        end = 2 * gap * (t + 1) - 1
        if end < BLOCK:
            tile[end] += tile[end - gap]
        cuda.syncthreads()
        gap *= 2

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()
    step = 1
    while step < BLOCK:
        left = tile[t - step] if t >= step else float32(0)
        cuda.syncthreads()
        tile[t] += left
        cuda.syncthreads()
        step *= 2

    if i < x.size:
        out[i] = tile[t - 1] if t > 0 else float32(0)
