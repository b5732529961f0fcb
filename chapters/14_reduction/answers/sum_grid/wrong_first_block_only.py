# verdict: loads
# One block goes through everything; the others have nothing to do.
@cuda.jit
def sum_grid(x, out):
    """Add the sum of x to out[0]."""
    value = float32(0)

    if cuda.blockIdx.x == 0:
        fours = x.size // 4
        for i in range(cuda.threadIdx.x, fours, cuda.blockDim.x):
            a, b, c, d = load4(x, 4 * i)  # <- here
            value += (a + b) + (c + d)
        rest = 4 * fours + cuda.threadIdx.x
        if rest < x.size:
            value += x[rest]

        value = block_sum(value)
        if cuda.threadIdx.x == 0:
            cuda.atomic.add(out, 0, value)
