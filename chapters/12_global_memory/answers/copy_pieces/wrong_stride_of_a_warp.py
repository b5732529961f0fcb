# verdict: unwritten
# A warp is what counts, so step by 32.
@cuda.jit
def copy_pieces(x, out):
    """Copy x into out, PIECE elements per thread."""
    start = cuda.blockIdx.x * cuda.blockDim.x * PIECE + cuda.threadIdx.x

    for k in range(PIECE):
        i = start + k * 32
        if i < x.size:
            out[i] = x[i]  # <- here
