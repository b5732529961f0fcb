# verdict: wrong-value
# Threads without an element store a 0, which does no harm.
@cuda.jit
def block_max(x, out):
    """Write the largest of each group of BLOCK elements of x into out."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)

    step = BLOCK // 2
    while step > 0:
        cuda.syncthreads()
        if t < step:
            tile[t] = max(tile[t], tile[t + step])
        step //= 2
    cuda.syncthreads()

    if t == 0:
        out[cuda.blockIdx.x] = tile[0]  # <- here
