# verdict: pass
# A contiguous piece for each thread: slow on a GPU, but right.
@cuda.jit
def saxpy(alpha, x, y):
    """Add alpha * x to y in place, whatever the number of threads."""
    piece = (x.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    first = cuda.grid(1) * piece

    for i in range(first, min(first + piece, x.size)):
        y[i] += alpha * x[i]
