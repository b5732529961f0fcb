# verdict: wrong-value
# I took it to be stored column by column.
@cuda.jit
def unpack(flat, rows, cols, out):
    """Copy flat, which holds rows one after another, into out."""
    col, row = cuda.grid(2)

    if row < rows and col < cols:
        out[row, col] = flat[col * rows + row]  # <- here
