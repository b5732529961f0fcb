# verdict: sectors
# Each thread takes its share of the row in one piece.
@cuda.jit
def softmax_passes(x, out):
    """Write the softmax of each row of x into out, in three passes."""
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    cols, width = x.shape[1], cuda.blockDim.x

    share = (cols + width - 1) // width
    top = LOWEST
    for col in range(t * share, min(cols, (t + 1) * share)):
        top = max(top, x[row, col])
    top = block_max(top)

    total = float32(0)
    for col in range(t * share, min(cols, (t + 1) * share)):
        total += math.exp(x[row, col] - top)
    scale = float32(1) / block_sum(total)

    for col in range(t * share, min(cols, (t + 1) * share)):
        out[row, col] = math.exp(x[row, col] - top) * scale
