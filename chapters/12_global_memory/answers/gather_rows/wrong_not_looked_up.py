# verdict: wrong-value
# Copy the table row by row.
@cuda.jit
def gather_rows(table, idx, out):
    """Copy row idx[i] of table (m, 32) to row i of out (n, 32)."""
    t = cuda.grid(1)

    row, col = t // 32, t % 32
    if row < idx.size:
        out[row, col] = table[row % table.shape[0], col]  # <- here
