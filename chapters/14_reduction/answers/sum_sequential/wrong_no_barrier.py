# verdict: race
# The threads below step are the only ones left, and they go in order.
@cuda.jit
def sum_sequential(x, out):
    """Write the sum of each run of BLOCK elements into out, adding halves."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    step = BLOCK // 2
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]  # <- here
        step //= 2

    if t == 0:
        out[cuda.blockIdx.x] = tile[0]
