# verdict: sectors
# The groups of a thread should be next to each other.
@cuda.jit
def copy4(x, out):
    """Copy x into out, four elements at a time."""
    fours = x.size // 4  # how many groups of four

    each = (fours + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    first = cuda.grid(1) * each
    for i in range(first, min(first + each, fours)):
        a, b, c, d = load4(x, 4 * i)  # <- here
        store4(out, 4 * i, a, b, c, d)

    i = 4 * fours + cuda.grid(1)
    if i < x.size:
        out[i] = x[i]
