# verdict: wrong-value
# An exclusive scan begins with 0.
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

    if t == 0:
        tile[0] = float32(0)
    cuda.syncthreads()

    while gap > 1:
        gap //= 2
        right = 2 * gap * (t + 1) - 1
        if right < BLOCK:
            half = tile[right - gap]
            tile[right - gap] = tile[right]
            tile[right] += half
        cuda.syncthreads()

    if i < x.size:
        out[i] = tile[t]
