# verdict: out-of-bounds
# The mirror of i among n is n - i.
@cuda.jit
def reverse(x, out):
    """Write x into out, last element first."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x

    if i < x.size:
        out[i] = x[x.size - i]  # <- here
