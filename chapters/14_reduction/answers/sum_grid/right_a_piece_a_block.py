# verdict: pass
# Each block has its piece of x, which may start in the middle of a sector.
@cuda.jit
def sum_grid(x, out):
    """Add the sum of x to out[0]."""
    value = float32(0)
    fours = x.size // 4
    piece = -(-fours // cuda.gridDim.x)
    first = cuda.blockIdx.x * piece
    last = min(first + piece, fours)

    for i in range(first + cuda.threadIdx.x, last, cuda.blockDim.x):
        a, b, c, d = load4(x, 4 * i)
        value += (a + b) + (c + d)
    if cuda.blockIdx.x == 0 and cuda.threadIdx.x < x.size - 4 * fours:
        value += x[4 * fours + cuda.threadIdx.x]

    value = block_sum(value)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(out, 0, value)
