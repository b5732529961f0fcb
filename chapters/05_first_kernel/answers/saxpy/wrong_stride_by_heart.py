# verdict: wrong-value
# There are 128 threads, so the next element is 128 further on.
@cuda.jit
def saxpy(alpha, x, y):
    """Add alpha * x to y in place, whatever the number of threads."""
    for i in range(cuda.grid(1), x.size, 128):
        y[i] += alpha * x[i]
