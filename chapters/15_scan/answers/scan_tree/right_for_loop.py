# verdict: pass
# A for loop over the levels, counted downwards.
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

    if t == BLOCK - 1:
        tile[t] = float32(0)
    cuda.syncthreads()

    for level in range(7, -1, -1):
        gap = 1 << level
        if t < BLOCK // (2 * gap):
            left = gap * (2 * t + 1) - 1
            right = left + gap
            tile[left], tile[right] = tile[right], tile[right] + tile[left]
        cuda.syncthreads()

    if i < x.size:
        out[i] = tile[t]
