# verdict: wrong-value
# One thread for each bin looks through all pixels.
@cuda.jit
def histogram_global(x, out):
    """Count the values of x, each into its bin of out."""
    b = cuda.threadIdx.x
    for i in range(x.size):
        if x[i] == b:
            out[b] += 1  # <- here
