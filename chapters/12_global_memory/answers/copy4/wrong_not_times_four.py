# verdict: misaligned
# i counts the groups, so load group i.
@cuda.jit
def copy4(x, out):
    """Copy x into out, four elements at a time."""
    fours = x.size // 4  # how many groups of four

    for i in range(cuda.grid(1), fours, cuda.gridsize(1)):
        a, b, c, d = load4(x, i)  # <- here
        store4(out, i, a, b, c, d)

    i = 4 * fours + cuda.grid(1)
    if i < x.size:
        out[i] = x[i]
