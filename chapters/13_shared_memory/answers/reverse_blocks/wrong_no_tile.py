# verdict: unshared
# It works without shared memory.
@cuda.jit
def reverse_blocks(x, out):
    """Reverse each run of BLOCK elements of x through shared memory."""
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    count = min(BLOCK, x.size - start)

    if t < count:
        out[start + t] = x[start + count - 1 - t]  # <- here
