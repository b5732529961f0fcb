# verdict: out-of-bounds
# Guard once, then go on by the stride.
@cuda.jit
def saxpy(alpha, x, y):
    """Add alpha * x to y in place, whatever the number of threads."""
    i = cuda.grid(1)

    if i < x.size:
        for k in range(x.size // cuda.gridsize(1) + 1):
            j = i + k * cuda.gridsize(1)
            y[j] += alpha * x[j]  # <- here
