# verdict: unwritten
# The kernel as it was given.
@cuda.jit
def swap_pairs(x, out):
    """Exchange neighbours; an odd last element stays where it is."""
    i = 2 * cuda.grid(1)

    if i + 1 < x.size:
        out[i] = x[i + 1]
        out[i + 1] = x[i]
