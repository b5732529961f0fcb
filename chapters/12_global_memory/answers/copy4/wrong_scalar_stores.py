# verdict: narrow
# The loads are wide; stores do not wait anyway.
@cuda.jit
def copy4(x, out):
    """Copy x into out, four elements at a time."""
    fours = x.size // 4  # how many groups of four

    for i in range(cuda.grid(1), fours, cuda.gridsize(1)):
        a, b, c, d = load4(x, 4 * i)
        out[4 * i] = a  # <- here
        out[4 * i + 1] = b
        out[4 * i + 2] = c
        out[4 * i + 3] = d

    i = 4 * fours + cuda.grid(1)
    if i < x.size:
        out[i] = x[i]
