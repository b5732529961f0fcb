# verdict: sectors
# One thread for each element of idx, which copies the whole row.
@cuda.jit
def gather_rows(table, idx, out):
    """Copy row idx[i] of table (m, 32) to row i of out (n, 32)."""
    t = cuda.grid(1)

    if t < idx.size:
        for col in range(32):
            out[t, col] = table[idx[t], col]  # <- here
