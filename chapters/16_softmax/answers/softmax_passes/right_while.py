# verdict: pass
# Loop with while.
@cuda.jit
def softmax_passes(x, out):
    """Write the softmax of each row of x into out, in three passes."""
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    cols, width = x.shape[1], cuda.blockDim.x

    top, col = LOWEST, t
    while col < cols:
        score = x[row, col]
        if score > top:
            top = score
        col += width
    top = block_max(top)

    total, col = float32(0), t
    while col < cols:
        total += math.exp(x[row, col] - top)
        col += width
    scale = float32(1) / block_sum(total)

    col = t
    while col < cols:
        out[row, col] = scale * math.exp(x[row, col] - top)
        col += width
