# verdict: pass
# Number the elements of out.
@cuda.jit
def gather_rows(table, idx, out):
    """Copy row idx[i] of table (m, 32) to row i of out (n, 32)."""
    t = cuda.grid(1)

    for k in range(t, out.size, cuda.gridsize(1)):
        out[k >> 5, k & 31] = table[idx[k >> 5], k & 31]
