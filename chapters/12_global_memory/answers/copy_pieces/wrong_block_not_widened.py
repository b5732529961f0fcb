# verdict: unwritten
# Step by the width of a block; but then the blocks overlap.
@cuda.jit
def copy_pieces(x, out):
    """Copy x into out, PIECE elements per thread."""
    start = cuda.grid(1)

    for k in range(PIECE):
        i = start + k * cuda.blockDim.x
        if i < x.size:
            out[i] = x[i]  # <- here
