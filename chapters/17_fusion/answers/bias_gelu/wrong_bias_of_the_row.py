# verdict: misaligned
# There is one bias for each row.
@cuda.jit
def bias_gelu(x, bias, out):
    """Write the GELU of x + bias into out, four columns per thread."""
    row, col = cuda.blockIdx.y, 4 * cuda.grid(1)

    if col < x.shape[1]:
        a, b, c, d = load4(x, (row, col))
        e, f, g, h = load4(bias, row)  # <- here
        store4(out, (row, col), gelu(a + e), gelu(b + f), gelu(c + g), gelu(d + h))
