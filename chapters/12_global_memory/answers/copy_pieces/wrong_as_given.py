# verdict: sectors
# Each thread takes eight neighbours, as on a CPU.
@cuda.jit
def copy_pieces(x, out):
    """Copy x into out, PIECE elements per thread."""
    start = cuda.grid(1) * PIECE

    for k in range(PIECE):
        i = start + k
        if i < x.size:
            out[i] = x[i]  # <- here
