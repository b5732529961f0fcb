# verdict: wrong-value
# What is left over is a short loop.
@cuda.jit
def sum_grid(x, out):
    """Add the sum of x to out[0]."""
    value = float32(0)

    fours = x.size // 4
    for i in range(cuda.grid(1), fours, cuda.gridsize(1)):
        a, b, c, d = load4(x, 4 * i)
        value += (a + b) + (c + d)

    for i in range(4 * fours, x.size):
        value += x[i]

    value = block_sum(value)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(out, 0, value)  # <- here
