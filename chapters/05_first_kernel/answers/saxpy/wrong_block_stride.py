# verdict: wrong-value
# The stride is the number of threads, and that is blockDim.
@cuda.jit
def saxpy(alpha, x, y):
    """Add alpha * x to y in place, whatever the number of threads."""
    for i in range(cuda.grid(1), x.size, cuda.blockDim.x):
        y[i] += alpha * x[i]  # <- here
