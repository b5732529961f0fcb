# verdict: out-of-bounds
# A byte is always a valid bin.
@cuda.jit
def histogram_global(x, out):
    """Count the values of x, each into its bin of out."""
    i = cuda.grid(1)
    cuda.atomic.add(out, x[i], 1)  # <- here
