# verdict: pass
# Eight lanes per row, 16 bytes each: more sectors per request, none of them wasted.
@cuda.jit
def gather_rows(table, idx, out):
    """Copy row idx[i] of table (m, 32) to row i of out (n, 32)."""
    t = cuda.grid(1)
    row, col = t // 8, t % 8 * 4

    if row < idx.size:
        a, b, c, d = load4(table, (idx[row], col))
        store4(out, (row, col), a, b, c, d)
