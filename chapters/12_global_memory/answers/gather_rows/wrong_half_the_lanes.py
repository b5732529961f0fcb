# verdict: loads
# Sixteen lanes for each row; each of them copies two elements.
@cuda.jit
def gather_rows(table, idx, out):
    """Copy row idx[i] of table (m, 32) to row i of out (n, 32)."""
    t = cuda.grid(1)

    row, col = t // 32, t % 32
    if row < idx.size and col < 16:
        out[row, col] = table[idx[row], col]  # <- here
        out[row, col + 16] = table[idx[row], col + 16]
