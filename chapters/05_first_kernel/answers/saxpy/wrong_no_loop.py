# verdict: wrong-value
# Index, guard, work, as before.
@cuda.jit
def saxpy(alpha, x, y):
    """Add alpha * x to y in place, whatever the number of threads."""
    i = cuda.grid(1)

    if i < x.size:
        y[i] += alpha * x[i]
