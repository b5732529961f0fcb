# verdict: out-of-bounds
# One guard is enough for all eight elements.
@cuda.jit
def copy_pieces(x, out):
    """Copy x into out, PIECE elements per thread."""
    start = cuda.blockIdx.x * cuda.blockDim.x * PIECE + cuda.threadIdx.x

    if start < x.size:
        for k in range(PIECE):
            i = start + k * cuda.blockDim.x
            out[i] = x[i]  # <- here
