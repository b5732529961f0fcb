# verdict: wrong-value
# int8 turns a quotient into an integer.
@cuda.jit
def quantise(x, codes, scales):
    """Write the codes of each row of x, and its scale."""
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    cols, width = x.shape[1], cuda.blockDim.x

    most = float32(0)
    for col in range(t, cols, width):
        most = max(most, abs(x[row, col]))
    most = block_max(most)

    scale = most / float32(127) if most > 0 else float32(1)
    if t == 0:
        scales[row] = scale
    for col in range(t, cols, width):
        codes[row, col] = int8(x[row, col] / scale)  # <- here
