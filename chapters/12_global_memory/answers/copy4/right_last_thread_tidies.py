# verdict: pass
# One thread copies what is left over.
@cuda.jit
def copy4(x, out):
    """Copy x into out, four elements at a time."""
    fours = x.size // 4  # how many groups of four

    for i in range(cuda.grid(1), fours, cuda.gridsize(1)):
        four = load4(x, 4 * i)
        store4(out, 4 * i, four[0], four[1], four[2], four[3])

    if cuda.grid(1) == cuda.gridsize(1) - 1:
        for i in range(4 * fours, x.size):
            out[i] = x[i]
