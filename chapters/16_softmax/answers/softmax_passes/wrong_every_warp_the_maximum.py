# verdict: loads
# Each warp goes through the row, so warp_max is enough.
@cuda.jit
def softmax_passes(x, out):
    """Write the softmax of each row of x into out, in three passes."""
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    cols, width = x.shape[1], cuda.blockDim.x

    top = LOWEST
    for col in range(t % 32, cols, 32):
        top = max(top, x[row, col])  # <- here
    top = warp_max(top)

    total = float32(0)
    for col in range(t, cols, width):
        total += math.exp(x[row, col] - top)
    scale = float32(1) / block_sum(total)

    for col in range(t, cols, width):
        out[row, col] = math.exp(x[row, col] - top) * scale
