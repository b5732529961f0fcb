# verdict: negative-index
# The guard is above already; once is enough.
@cuda.jit
def reverse_blocks(x, out):
    """Reverse each BLOCK elements of x, handing them over in shared memory."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    count = min(BLOCK, x.size - start)

    if t < count:
        tile[t] = x[start + t]

    cuda.syncthreads()

    out[start + t] = tile[count - 1 - t]  # <- here
