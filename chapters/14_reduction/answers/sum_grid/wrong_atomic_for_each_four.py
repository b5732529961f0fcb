# verdict: atomics
# No register in between: each vector of four is added to out by itself.
@cuda.jit
def sum_grid(x, out):
    """Add the sum of x to out[0]."""
    fours = x.size // 4
    for i in range(cuda.grid(1), fours, cuda.gridsize(1)):
        a, b, c, d = load4(x, 4 * i)
        cuda.atomic.add(out, 0, (a + b) + (c + d))  # <- here

    i = 4 * fours + cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, 0, x[i])
