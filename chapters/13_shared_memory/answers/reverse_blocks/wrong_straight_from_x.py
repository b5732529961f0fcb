# verdict: unshared
# Load the mirrored element from x, which leaves the tile unused.
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
        out[start + t] = x[start + count - 1 - t]  # <- here
