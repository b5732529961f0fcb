# verdict: uninitialised
# A block has BLOCK elements, so the mirror of t is BLOCK - 1 - t.
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
        out[start + t] = tile[BLOCK - 1 - t]  # <- here
