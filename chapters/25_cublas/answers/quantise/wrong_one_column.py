# verdict: unwritten
# 256 threads, one column each.
@cuda.jit
def quantise(x, codes, scales):
    """Write the codes of each row of x, and its scale."""
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    cols, width = x.shape[1], cuda.blockDim.x

    value = abs(x[row, t]) if t < cols else float32(0)
    most = block_max(value)
    scale = most / float32(127) if most > 0 else float32(1)
    if t == 0:
        scales[row] = scale
    if t < cols:
        codes[row, t] = int8(nearest(x[row, t] / scale))  # <- here
