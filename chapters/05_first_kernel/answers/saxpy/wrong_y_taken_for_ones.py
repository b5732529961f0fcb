# verdict: wrong-value
# y holds ones, so the result is alpha times x, plus 1.
@cuda.jit
def saxpy(alpha, x, y):
    """Add alpha * x to y in place, whatever the number of threads."""
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = alpha * x[i] + 1  # <- here
