# verdict: pass
# Divide only once for each row; each code is a rounded product.
@cuda.jit
def quantise(x, codes, scales):
    """Write the codes of each row of x, and its scale."""
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    cols, width = x.shape[1], cuda.blockDim.x

    most = float32(0)
    for col in range(t, cols, width):
        most = max(most, abs(x[row, col]))
    most = block_max(most)

    scale, by = float32(1), float32(0)
    if most > float32(0):
        scale, by = most / float32(127), float32(127) / most
    if t == 32:
        scales[row] = scale
    for col in range(t, cols, width):
        codes[row, col] = int8(nearest(by * x[row, col]))
