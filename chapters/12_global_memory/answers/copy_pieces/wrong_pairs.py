# verdict: sectors
# Two neighbouring elements at a time are a compromise.
@cuda.jit
def copy_pieces(x, out):
    """Copy x into out, PIECE elements per thread."""
    start = cuda.blockIdx.x * cuda.blockDim.x * PIECE + 2 * cuda.threadIdx.x

    for k in range(PIECE):
        i = start + k // 2 * 2 * cuda.blockDim.x + k % 2
        if i < x.size:
            out[i] = x[i]  # <- here
