# verdict: race
# With 256 bins threads hardly ever meet.
@cuda.jit
def histogram_global(x, out):
    """Count the values of x, each into its bin of out."""
    i = cuda.grid(1)

    if i < x.size:
        out[x[i]] += 1  # <- here
