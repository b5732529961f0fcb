# verdict: sectors
# Neighbouring lanes take neighbouring rows.
@cuda.jit
def gather_rows(table, idx, out):
    """Copy row idx[i] of table (m, 32) to row i of out (n, 32)."""
    t = cuda.grid(1)

    row, col = t % idx.size, t // idx.size
    if col < 32:
        out[row, col] = table[idx[row], col]  # <- here
