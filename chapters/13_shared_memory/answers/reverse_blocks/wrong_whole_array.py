# verdict: wrong-value
# Reverse means the first element of x goes to the end of out.
@cuda.jit
def reverse_blocks(x, out):
    """Reverse each run of BLOCK elements of x through shared memory."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    count = min(BLOCK, x.size - start)

    if t < count:
        tile[t] = x[start + t]

    cuda.syncthreads()

    if t < count:
        out[x.size - 1 - start - t] = tile[t]  # <- here
