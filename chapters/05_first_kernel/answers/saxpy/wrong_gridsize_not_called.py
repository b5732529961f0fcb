# verdict: exception
# gridsize is a number, like blockDim.x.
@cuda.jit
def saxpy(alpha, x, y):
    """Add alpha * x to y in place, whatever the number of threads."""
    for i in range(cuda.grid(1), x.size, cuda.gridsize):  # <- here
        y[i] += alpha * x[i]
