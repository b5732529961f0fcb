# verdict: pass
# The maximum starts with the first element of the row.
@cuda.jit
def softmax_passes(x, out):
    """Write the softmax of each row of x into out, in three passes."""
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    cols, width = x.shape[1], cuda.blockDim.x

    top = max(x[row, 0], LOWEST)
    for col in range(t, cols, width):
        top = max(top, x[row, col])
    top = block_max(top)

    total = float32(0)
    for col in range(t, cols, width):
        total += math.exp(x[row, col] - top)
    scale = float32(1) / block_sum(total)

    for col in range(t, cols, width):
        out[row, col] = math.exp(x[row, col] - top) * scale
