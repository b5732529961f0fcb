# verdict: wrong-value
# The last element is always copied, whether the size is odd or even.
@cuda.jit
def swap_pairs(x, out):
    """Exchange neighbours; an odd last element stays where it is."""
    i = 2 * cuda.grid(1)

    if i + 1 < x.size:
        out[i] = x[i + 1]
        out[i + 1] = x[i]
    if i + 2 >= x.size and i < x.size:
        out[x.size - 1] = x[x.size - 1]  # <- here
