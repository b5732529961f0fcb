# verdict: wrong-value
# The stride of the grid is gridDim.
@cuda.jit
def saxpy(alpha, x, y):
    """Add alpha * x to y in place, whatever the number of threads."""
    for i in range(cuda.grid(1), x.size, cuda.gridDim.x):
        y[i] += alpha * x[i]  # <- here
