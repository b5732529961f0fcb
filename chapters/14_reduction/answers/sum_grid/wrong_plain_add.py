# verdict: race
# Only thread 0 of each block adds, so no other thread is in its way.
@cuda.jit
def sum_grid(x, out):
    """Add the sum of x to out[0]."""
    value = float32(0)

    fours = x.size // 4
    for i in range(cuda.grid(1), fours, cuda.gridsize(1)):
        a, b, c, d = load4(x, 4 * i)
        value += (a + b) + (c + d)

    i = 4 * fours + cuda.grid(1)
    if i < x.size:
        value += x[i]

    value = block_sum(value)
    if cuda.threadIdx.x == 0:
        out[0] += value  # <- here
