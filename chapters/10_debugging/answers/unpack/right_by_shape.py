# verdict: pass
# The shape of the output says how long its rows are.
@cuda.jit
def unpack(flat, rows, cols, out):
    """Copy flat, which holds rows one after another, into out."""
    col, row = cuda.grid(2)

    if row < rows and col < cols:
        out[row, col] = flat[row * out.shape[1] + col]
