# verdict: pass
# Read my own element, and write it to the mirrored place.
@cuda.jit
def reverse(x, out):
    """Write x into out, last element first."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x

    if i < x.size:
        out[out.size - 1 - i] = x[i]
