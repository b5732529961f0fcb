# verdict: loads
# One block will do, with a loop up to the end of x.
@cuda.jit
def copy_pieces(x, out):
    """Copy x into out, PIECE elements per thread."""
    if cuda.blockIdx.x == 0:
        for i in range(cuda.threadIdx.x, x.size, cuda.blockDim.x):
            out[i] = x[i]  # <- here
