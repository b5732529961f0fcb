# verdict: loads
# A tree in shared memory, and no shuffle.
@cuda.jit
def block_sum(x, out):
    """Write the sum of each group of 256 elements of x into out."""
    tile = cuda.shared.array(256, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    step = 128
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]  # <- here
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]
