# verdict: pass
# Halves first: another tree, and just as right.
@cuda.jit
def sum_interleaved(x, out):
    """Write the sum of each run of BLOCK elements of x into out."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    step = BLOCK // 2
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2

    if t == 0:
        out[cuda.blockIdx.x] = tile[0]
