# verdict: arguments
# The result comes first, as in an assignment.
@cuda.jit
def copy4(out, x):  # <- here
    """Copy x into out, four elements at a time."""
    fours = x.size // 4  # how many groups of four

    for i in range(cuda.grid(1), fours, cuda.gridsize(1)):
        a, b, c, d = load4(x, 4 * i)
        store4(out, 4 * i, a, b, c, d)

    for k in range(4 * fours + cuda.grid(1), x.size, cuda.gridsize(1)):
        out[k] = x[k]
