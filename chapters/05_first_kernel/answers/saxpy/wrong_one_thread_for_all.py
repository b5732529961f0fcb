# verdict: loads
# One thread takes every element, so none is updated twice.
@cuda.jit
def saxpy(alpha, x, y):
    """Add alpha * x to y in place, whatever the number of threads."""
    if cuda.grid(1) == 0:
        for i in range(x.size):
            y[i] += alpha * x[i]  # <- here
