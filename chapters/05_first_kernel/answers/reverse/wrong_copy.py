# verdict: wrong-value
# First the index, then the mirror, which I forgot.
@cuda.jit
def reverse(x, out):
    """Write x into out, last element first."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x

    if i < x.size:
        out[i] = x[i]  # <- here
