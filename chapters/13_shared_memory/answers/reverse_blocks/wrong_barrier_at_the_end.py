# verdict: race
# The barrier makes sure that all threads are done when the block ends.
@cuda.jit
def reverse_blocks(x, out):
    """Reverse each run of BLOCK elements of x through shared memory."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    count = min(BLOCK, x.size - start)

    if t < count:
        tile[t] = x[start + t]  # <- here

    if t < count:
        out[start + t] = tile[count - 1 - t]
    cuda.syncthreads()
