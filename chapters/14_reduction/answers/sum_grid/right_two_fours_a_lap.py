# verdict: pass
# Two loads before the first addition, in two sums.
@cuda.jit
def sum_grid(x, out):
    """Add the sum of x to out[0]."""
    value = float32(0)

    other = float32(0)
    fours, step = x.size // 4, cuda.gridsize(1)
    i = cuda.grid(1)
    while i + step < fours:
        a, b, c, d = load4(x, 4 * i)
        e, f, g, h = load4(x, 4 * (i + step))
        value += (a + b) + (c + d)
        other += (e + f) + (g + h)
        i += 2 * step
    if i < fours:
        a, b, c, d = load4(x, 4 * i)
        value += (a + b) + (c + d)
    rest = 4 * fours + cuda.grid(1)
    if rest < x.size:
        other += x[rest]

    value = block_sum(value + other)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(out, 0, value)
