# verdict: pass
# Read mine, write to the mirror.
@cuda.jit
def reverse(x, out):
    """Write x into out, last element first."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x

    if i < x.size:
        out[out.size - 1 - i] = x[i]
