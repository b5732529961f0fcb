# verdict: wrong-value
# 0 / 127 is a scale like any other.
@cuda.jit
def quantise(x, codes, scales):
    """Write the codes of each row of x, and its scale."""
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    cols, width = x.shape[1], cuda.blockDim.x

    most = float32(0)
    for col in range(t, cols, width):
        most = max(most, abs(x[row, col]))
    most = block_max(most)

    scale = most / float32(127)
    if t == 0:
        scales[row] = scale  # <- here
    for col in range(t, cols, width):
        codes[row, col] = int8(nearest(x[row, col] / scale))
