# verdict: pass
# Compute start and stride by hand, and write out the sum.
@cuda.jit
def saxpy(alpha, x, y):
    """Add alpha * x to y in place, whatever the number of threads."""
    start = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    stride = cuda.blockDim.x * cuda.gridDim.x

    for i in range(start, y.size, stride):
        y[i] = alpha * x[i] + y[i]
