# verdict: pass
# A loop instead of the guard.
@cuda.jit
def histogram_global(x, out):
    """Count the values of x, each into its bin of out."""
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(out, x[i], 1)
