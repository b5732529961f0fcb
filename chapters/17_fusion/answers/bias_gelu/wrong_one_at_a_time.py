# verdict: narrow
# Four columns, one after another.
@cuda.jit
def bias_gelu(x, bias, out):
    """Write the GELU of x + bias into out, four columns per thread."""
    row, col = cuda.blockIdx.y, 4 * cuda.grid(1)

    if col < x.shape[1]:
        for j in range(4):
            out[row, col + j] = gelu(x[row, col + j] + bias[col + j])  # <- here
