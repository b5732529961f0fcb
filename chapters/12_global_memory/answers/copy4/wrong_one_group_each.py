# verdict: unwritten
# One group per thread, with a guard.
@cuda.jit
def copy4(x, out):
    """Copy x into out, four elements at a time."""
    fours = x.size // 4  # how many groups of four

    i = cuda.grid(1)
    if i < fours:
        a, b, c, d = load4(x, 4 * i)
        store4(out, 4 * i, a, b, c, d)  # <- here

    i = 4 * fours + cuda.grid(1)
    if i < x.size:
        out[i] = x[i]
