# verdict: pass
# The way down only adds, and the result is shifted by one.
@cuda.jit
def scan_tree(x, out):
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
    gap //= 4
    while gap > 0:
        at = 2 * gap * (t + 1) - 1
        if at + gap < BLOCK:
            tile[at + gap] += tile[at]
        cuda.syncthreads()
        gap //= 2
    if i < x.size:
        out[i] = tile[t - 1] if t > 0 else float32(0)
