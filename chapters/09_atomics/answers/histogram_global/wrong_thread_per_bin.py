# verdict: loads
# No atomics: each thread counts some of the bins, and reads every pixel.
@cuda.jit
def histogram_global(x, out):
    """Count the values of x, each into its bin of out."""
    for b in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        count = 0
        for i in range(x.size):
            if x[i] == b:  # <- here
                count += 1
        out[b] = count
