# verdict: out-of-bounds
# There are 32 threads for each row, so every thread has an element.
@cuda.jit
def gather_rows(table, idx, out):
    """Copy row idx[i] of table (m, 32) to row i of out (n, 32)."""
    t = cuda.grid(1)

    row, col = t // 32, t % 32
    out[row, col] = table[idx[row], col]  # <- here
