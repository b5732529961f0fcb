# verdict: pass
# A while loop that steps by the grid.
@cuda.jit
def saxpy(alpha, x, y):
    """Add alpha * x to y in place, whatever the number of threads."""
    i = cuda.grid(1)

    while i < x.size:
        y[i] += alpha * x[i]
        i += cuda.gridsize(1)
