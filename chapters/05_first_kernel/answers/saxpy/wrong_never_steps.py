# verdict: endless-loop
# While there is an element, update it.
@cuda.jit
def saxpy(alpha, x, y):
    """Add alpha * x to y in place, whatever the number of threads."""
    i = cuda.grid(1)

    while i < x.size:  # <- here
        y[i] += alpha * x[i]
