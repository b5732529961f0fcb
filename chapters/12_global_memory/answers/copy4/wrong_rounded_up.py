# verdict: out-of-bounds
# Round up, as for blocks, and the tail is included.
@cuda.jit
def copy4(x, out):
    """Copy x into out, four elements at a time."""
    fours = x.size // 4  # how many groups of four

    fours = (x.size + 3) // 4
    for i in range(cuda.grid(1), fours, cuda.gridsize(1)):
        a, b, c, d = load4(x, 4 * i)  # <- here
        store4(out, 4 * i, a, b, c, d)
