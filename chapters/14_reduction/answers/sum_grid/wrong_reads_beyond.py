# verdict: out-of-bounds
# One more vector of four takes care of the rest.
@cuda.jit
def sum_grid(x, out):
    """Add the sum of x to out[0]."""
    value = float32(0)

    for i in range(cuda.grid(1), (x.size + 3) // 4, cuda.gridsize(1)):
        a, b, c, d = load4(x, 4 * i)  # <- here
        value += (a + b) + (c + d)

    value = block_sum(value)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(out, 0, value)
