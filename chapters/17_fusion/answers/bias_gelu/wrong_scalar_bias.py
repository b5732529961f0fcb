# verdict: narrow
# The bias is small, so four loads do no harm.
@cuda.jit
def bias_gelu(x, bias, out):
    """Write the GELU of x + bias into out, four columns per thread."""
    row, col = cuda.blockIdx.y, 4 * cuda.grid(1)

    if col < x.shape[1]:
        a, b, c, d = load4(x, (row, col))
        e, f, g, h = bias[col], bias[col + 1], bias[col + 2], bias[col + 3]
        a, b, c, d = gelu(a + e), gelu(b + f), gelu(c + g), gelu(d + h)
        store4(out, (row, col), a, b, c, d)
