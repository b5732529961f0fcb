# verdict: wrong-value
# Eight elements for each thread, however many there are.
@cuda.jit
def saxpy(alpha, x, y):
    """Add alpha * x to y in place, whatever the number of threads."""
    for k in range(8):
        i = cuda.grid(1) + k * cuda.gridsize(1)
        if i < x.size:
            y[i] += alpha * x[i]
