# verdict: race
# Threads 0 to step add.
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
        if t <= step and t + step < BLOCK:
            tile[t] += tile[t + step]  # <- here
        cuda.syncthreads()
        step //= 2

    if t == 0:
        out[cuda.blockIdx.x] = tile[0]
