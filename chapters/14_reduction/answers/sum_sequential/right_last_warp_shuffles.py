# verdict: pass
# Halve down to one warp, which finishes with shuffles.
@cuda.jit
def sum_sequential(x, out):
    """Write the sum of each run of BLOCK elements into out, adding halves."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    step = BLOCK // 2
    while step >= 32:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2

    if t < 32:
        value = warp_sum(tile[t])
        if t == 0:
            out[cuda.blockIdx.x] = value
