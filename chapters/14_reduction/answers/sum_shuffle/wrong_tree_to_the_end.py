# verdict: loads
# The tree of the earlier exercises, and no shuffle.
@cuda.jit
def sum_shuffle(x, out):
    """Write the sum of each block's elements of x into out."""
    tile = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    width = cuda.blockDim.x
    while width > 1:
        half = (width + 1) // 2
        if t + half < width:
            tile[t] += tile[t + half]  # <- here
        cuda.syncthreads()
        width = half
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]
