# verdict: loads
# One block will do: its two warps take turns.
@cuda.jit
def gather_rows(table, idx, out):
    """Copy row idx[i] of table (m, 32) to row i of out (n, 32)."""
    warp, col = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32

    if cuda.blockIdx.x == 0:
        for row in range(warp, idx.size, 2):
            out[row, col] = table[idx[row], col]  # <- here
