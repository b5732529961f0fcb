# verdict: out-of-bounds
# The last element fails the guard, so I let it through.
@cuda.jit
def swap_pairs(x, out):
    """Exchange neighbours; an odd last element stays where it is."""
    i = 2 * cuda.grid(1)

    if i < x.size:
        out[i] = x[i + 1]  # <- here
        out[i + 1] = x[i]
