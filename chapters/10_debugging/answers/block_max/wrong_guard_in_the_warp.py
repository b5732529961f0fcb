# verdict: race
# The lanes of a warp run in step, so only large steps need a barrier.
@cuda.jit
def block_max(x, out):
    """Write the largest of each group of BLOCK elements of x into out."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[min(i, x.size - 1)]
    cuda.syncthreads()

    step = BLOCK // 2
    while step > 0:
        if t < step:
            tile[t] = max(tile[t], tile[t + step])  # <- here
        if step > 32:
            cuda.syncthreads()
        step //= 2
    cuda.syncthreads()

    if t == 0:
        out[cuda.blockIdx.x] = tile[0]
