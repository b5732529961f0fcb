# verdict: loads
# The first block strides by its own size; the others have nothing left to do.
@cuda.jit
def saxpy(alpha, x, y):
    """Add alpha * x to y in place, whatever the number of threads."""
    if cuda.blockIdx.x == 0:
        for i in range(cuda.threadIdx.x, x.size, cuda.blockDim.x):
            y[i] += alpha * x[i]  # <- here
