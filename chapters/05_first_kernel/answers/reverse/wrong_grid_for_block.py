# verdict: unwritten
# Skip the blocks before mine: there are gridDim of them.
@cuda.jit
def reverse(x, out):
    """Write x into out, last element first."""
    i = cuda.blockIdx.x * cuda.gridDim.x + cuda.threadIdx.x

    if i < x.size:
        out[i] = x[x.size - 1 - i]
