# verdict: pass
# Threads without an element leave, but only after the barrier.
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
    if t >= count:
        return

    mirror = count - 1 - t
    out[start + t] = tile[mirror]
