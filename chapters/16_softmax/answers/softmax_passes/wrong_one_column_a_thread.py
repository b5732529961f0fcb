# verdict: unwritten
# 256 threads, one column each.
@cuda.jit
def softmax_passes(x, out):
    """Write the softmax of each row of x into out, in three passes."""
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    cols, width = x.shape[1], cuda.blockDim.x

    value = x[row, t] if t < cols else NOTHING
    top = block_max(max(value, LOWEST))
    power = math.exp(value - top)
    total = block_sum(power)

    if t < cols:
        out[row, t] = power / total  # <- here
