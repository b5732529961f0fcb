# verdict: narrow
# A coalesced loop is as good as it gets.
@cuda.jit
def copy4(x, out):
    """Copy x into out, four elements at a time."""
    fours = x.size // 4  # how many groups of four

    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        out[i] = x[i]  # <- here
