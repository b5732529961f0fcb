# verdict: wrong-value
# I forgot to add, so each power replaces the sum.
@cuda.jit
def softmax_passes(x, out):
    """Write the softmax of each row of x into out, in three passes."""
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    cols, width = x.shape[1], cuda.blockDim.x

    m = LOWEST
    for j in range(t, cols, width):
        m = max(m, x[row, j])
    m = block_max(m)
    s = float32(0)
    for j in range(t, cols, width):
        s = math.exp(x[row, j] - m)
    s = block_sum(s)
    for j in range(t, cols, width):
        out[row, j] = math.exp(x[row, j] - m) / s
