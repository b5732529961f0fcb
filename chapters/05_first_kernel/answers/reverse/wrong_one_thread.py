# verdict: loads
# Thread 0 does it all.
@cuda.jit
def reverse(x, out):
    """Write x into out, last element first."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x

    if i == 0:
        for k in range(x.size):
            out[k] = x[x.size - 1 - k]  # <- here
