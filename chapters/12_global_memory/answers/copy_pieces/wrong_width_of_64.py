# verdict: race
# The blocks of the check have 64 threads.
@cuda.jit
def copy_pieces(x, out):
    """Copy x into out, PIECE elements per thread."""
    start = cuda.blockIdx.x * 64 * PIECE + cuda.threadIdx.x

    for k in range(PIECE):
        i = start + k * 64
        if i < x.size:
            out[i] = x[i]  # <- here
