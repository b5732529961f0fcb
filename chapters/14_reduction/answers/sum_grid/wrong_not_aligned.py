# verdict: misaligned
# load4(x, i) loads vector i.
@cuda.jit
def sum_grid(x, out):
    """Add the sum of x to out[0]."""
    value = float32(0)

    for i in range(cuda.grid(1), x.size // 4, cuda.gridsize(1)):
        a, b, c, d = load4(x, i)  # <- here
        value += (a + b) + (c + d)

    i = x.size // 4 * 4 + cuda.grid(1)
    if i < x.size:
        value += x[i]

    value = block_sum(value)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(out, 0, value)
