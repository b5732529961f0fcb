# verdict: out-of-bounds
# One guard for all eight.
@cuda.jit
def copy_pieces(x, out):
    """Copy x into out, PIECE elements a thread."""
    start = cuda.blockIdx.x * cuda.blockDim.x * PIECE + cuda.threadIdx.x

    if start < x.size:
        for k in range(PIECE):
            i = start + k * cuda.blockDim.x
            out[i] = x[i]  # <- here
