# verdict: race
# Every second thread: those whose number is a multiple of the distance.
@cuda.jit
def sum_interleaved(x, out):
    """Write the sum of each run of BLOCK elements of x into out."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    step = 1
    while step < BLOCK:
        if t % step == 0 and t + step < BLOCK:
            tile[t] += tile[t + step]  # <- here
        cuda.syncthreads()
        step *= 2

    if t == 0:
        out[cuda.blockIdx.x] = tile[0]
