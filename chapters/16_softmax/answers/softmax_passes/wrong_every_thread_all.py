# verdict: race
# Every thread needs to see the whole row.
@cuda.jit
def softmax_passes(x, out):
    """Write the softmax of each row of x into out, in three passes."""
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    cols, width = x.shape[1], cuda.blockDim.x

    top = LOWEST
    for col in range(cols):
        top = max(top, x[row, col])

    total = float32(0)
    for col in range(cols):
        total += math.exp(x[row, col] - top)

    for col in range(cols):
        out[row, col] = math.exp(x[row, col] - top) / total  # <- here
