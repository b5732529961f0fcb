# verdict: wrong-value
# Merge the rows of threads, from row 0 on.
@cuda.jit
def merge_slices(tops, weights, totals, out):
    """Merge the slices of each head, one head per block."""
    row_tops = cuda.shared.array((ROWS, D), float32)
    row_weights = cuda.shared.array((ROWS, D), float32)
    row_totals = cuda.shared.array((ROWS, D), float32)
    head, seq = cuda.blockIdx.x, cuda.blockIdx.y
    c, y = cuda.threadIdx.x, cuda.threadIdx.y

    top, weight, total = LOWEST, float32(0), float32(0)
    for i in range(y, tops.shape[2], ROWS):
        new = max(top, tops[seq, head, i])
        old, factor = math.exp(top - new), math.exp(tops[seq, head, i] - new)
        weight = weight * old + weights[seq, head, i] * factor
        total = total * old + totals[seq, head, i, c] * factor
        top = new
    row_tops[y, c], row_weights[y, c], row_totals[y, c] = top, weight, total
    cuda.syncthreads()

    if y == 0:
        for i in range(ROWS):
            new = max(top, row_tops[i, c])
            old, factor = math.exp(top - new), math.exp(row_tops[i, c] - new)
            weight = weight * old + row_weights[i, c] * factor
            total = total * old + row_totals[i, c] * factor
            top = new
        out[seq, head, c] = total / weight  # <- here
