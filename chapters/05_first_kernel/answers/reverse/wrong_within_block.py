# verdict: out-of-bounds
# Mirror the thread within its block.
@cuda.jit
def reverse(x, out):
    """Write x into out, last element first."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    j = cuda.blockIdx.x * cuda.blockDim.x + cuda.blockDim.x - 1 - cuda.threadIdx.x

    if i < x.size:
        out[i] = x[j]  # <- here
