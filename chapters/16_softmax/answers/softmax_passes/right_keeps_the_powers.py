# verdict: pass
# The second pass leaves the powers in out, the third scales them.
@cuda.jit
def softmax_passes(x, out):
    """Write the softmax of each row of x into out, in three passes."""
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    cols, width = x.shape[1], cuda.blockDim.x

    top = NOTHING
    for col in range(t, cols, width):
        top = max(top, x[row, col])
    top = block_max(top)

    total = float32(0)
    for col in range(t, cols, width):
        power = math.exp(x[row, col] - top)
        out[row, col] = power
        total += power
    total = block_sum(total)

    for col in range(t, cols, width):
        out[row, col] /= total
