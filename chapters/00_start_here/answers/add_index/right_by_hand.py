# verdict: pass
# Compute the index from block and thread by hand.
@cuda.jit
def add_index(x, out):
    """Write x[0] + 0, x[1] + 1, x[2] + 2, ... into out."""
    i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x

    if i < x.size:
        out[i] = i + x[i]
