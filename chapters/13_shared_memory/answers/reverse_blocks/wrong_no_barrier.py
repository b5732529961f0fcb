# verdict: race
# The load comes first in the code, so it comes first.
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
