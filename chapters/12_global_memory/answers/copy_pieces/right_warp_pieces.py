# verdict: pass
# Each warp has its own stretch.
@cuda.jit
def copy_pieces(x, out):
    """Copy x into out, PIECE elements per thread."""
    t = cuda.grid(1)
    start = t // 32 * 32 * PIECE + t % 32

    for i in range(start, min(start + 32 * PIECE, x.size), 32):
        out[i] = x[i]
