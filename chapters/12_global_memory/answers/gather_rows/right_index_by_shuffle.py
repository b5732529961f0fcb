# verdict: pass
# One lane loads the index and hands it to the others.
@cuda.jit
def gather_rows(table, idx, out):
    t = cuda.grid(1)
    row, col = t >> 5, t & 31
    r = 0
    if row < idx.size and col == 0:
        r = idx[row]
    r = cuda.shfl_sync(0xFFFFFFFF, r, 0)
    if row < idx.size:
        out[row, col] = table[r, col]
