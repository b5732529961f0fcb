# verdict: pass
# One thread takes what is left over, and another one writes.
@cuda.jit
def sum_grid(x, out):
    """Add the sum of x to out[0]."""
    value = float32(0)

    fours = x.size // 4
    i = cuda.grid(1)
    while i < fours:
        a, b, c, d = load4(x, 4 * i)
        value += a + b + c + d
        i += cuda.gridsize(1)

    if cuda.grid(1) == 5:
        for i in range(4 * fours, x.size):
            value += x[i]

    value = block_sum(value)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(out, 0, value)
