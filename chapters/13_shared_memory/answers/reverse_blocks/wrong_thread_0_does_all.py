# verdict: loads
# The tile is full, so one thread can take it all out.
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

    if t == 0:
        for k in range(count):
            out[start + k] = tile[count - 1 - k]  # <- here
