# verdict: negative-index
# x[-1] is the last one, x[-2] the one before.
@cuda.jit
def reverse(x, out):
    """Write x into out, last element first."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x

    if i < x.size:
        out[i] = x[-1 - i]  # <- here
