# verdict: exception
# One dimension, so nothing needs an x.
@cuda.jit
def reverse(x, out):
    """Write x into out, last element first."""
    i = cuda.blockIdx * cuda.blockDim + cuda.threadIdx  # <- here
    if i < x.size:
        out[i] = x[x.size - 1 - i]
