# verdict: loads
# The sum goes to out first, and is loaded from there.
@cuda.jit
def bias_gelu(x, bias, out):
    """Write the GELU of x + bias into out, four columns per thread."""
    row, col = cuda.blockIdx.y, 4 * cuda.grid(1)

    if col < x.shape[1]:
        a, b, c, d = load4(x, (row, col))
        e, f, g, h = load4(bias, col)
        store4(out, (row, col), a + e, b + f, c + g, d + h)
        a, b, c, d = load4(out, (row, col))
        store4(out, (row, col), gelu(a), gelu(b), gelu(c), gelu(d))
