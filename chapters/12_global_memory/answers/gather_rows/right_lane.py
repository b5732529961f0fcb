# verdict: pass
# The warp gives the row, the lane the column.
@cuda.jit
def gather_rows(table, idx, out):
    """Copy row idx[i] of table (m, 32) to row i of out (n, 32)."""
    t = cuda.grid(1)

    lane = cuda.laneid
    warp = t // 32
    if warp < idx.size:
        source = idx[warp]
        out[warp, lane] = table[source, lane]
