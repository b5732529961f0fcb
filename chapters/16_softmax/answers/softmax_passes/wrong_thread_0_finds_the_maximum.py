# verdict: loads
# One thread looks for the largest; the others get it from block_max.
@cuda.jit
def softmax_passes(x, out):
    """Write the softmax of each row of x into out, in three passes."""
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    cols, width = x.shape[1], cuda.blockDim.x

    top = LOWEST
    if t == 0:
        for col in range(cols):
            top = max(top, x[row, col])  # <- here
    top = block_max(top)

    total = float32(0)
    for col in range(t, cols, width):
        total += math.exp(x[row, col] - top)
    scale = float32(1) / block_sum(total)

    for col in range(t, cols, width):
        out[row, col] = math.exp(x[row, col] - top) * scale
