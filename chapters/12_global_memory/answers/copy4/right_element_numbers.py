# verdict: pass
# Count elements, not groups.
@cuda.jit
def copy4(x, out):
    """Copy x into out, four elements at a time."""
    fours = x.size // 4  # how many groups of four

    i = 4 * cuda.grid(1)
    while i + 3 < x.size:
        a, b, c, d = load4(x, i)
        store4(out, i, a, b, c, d)
        i += 4 * cuda.gridsize(1)

    for k in range(4 * fours + cuda.grid(1), x.size, cuda.gridsize(1)):
        out[k] = x[k]
