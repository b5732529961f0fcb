# verdict: wrong-value
# The guard tests the size of the output, as always.
@cuda.jit
def histogram_global(x, out):
    """Count the values of x, each into its bin of out."""
    i = cuda.grid(1)

    if i < out.size and i < x.size:
        cuda.atomic.add(out, x[i], 1)  # <- here
