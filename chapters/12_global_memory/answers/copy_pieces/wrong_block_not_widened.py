# verdict: unwritten
# Neighbours, one block's width apart; but blocks overlap.
@cuda.jit
def copy_pieces(x, out):
    """Copy x into out, PIECE elements a thread."""
    start = cuda.grid(1)

    for k in range(PIECE):
        i = start + k * cuda.blockDim.x
        if i < x.size:
            out[i] = x[i]  # <- here
