# verdict: flops
# Only threads with a neighbour add, and each keeps its sum.
@cuda.jit
def scan_tree(x, out):
    """Write the exclusive sums of each group of BLOCK elements into out."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    own = x[i] if i < x.size else float32(0)
    tile[t] = own
    cuda.syncthreads()

    gap = 1
    while gap < BLOCK:
        end = 2 * gap * (t + 1) - 1
        if end < BLOCK:
            tile[end] += tile[end - gap]
        cuda.syncthreads()
        gap *= 2

    tile[t] = own
    cuda.syncthreads()
    upto = own
    for k in range(8):
        far = 1 << k
        if t >= far:
            upto += tile[t - far]  # <- here
        cuda.syncthreads()
        tile[t] = upto
        cuda.syncthreads()

    if i < x.size:
        out[i] = upto - own
