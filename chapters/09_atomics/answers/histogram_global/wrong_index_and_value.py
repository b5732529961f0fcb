# verdict: wrong-value
# First the index, then the value.
@cuda.jit
def histogram_global(x, out):
    """Count the values of x, each into its bin of out."""
    i = cuda.grid(1)

    if i < x.size:
        cuda.atomic.add(out, i, x[i])  # <- here
