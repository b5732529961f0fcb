# verdict: misaligned
# A thread's column is its number.
@cuda.jit
def bias_gelu(x, bias, out):
    """Write the GELU of x + bias into out, four columns per thread."""
    row, col = cuda.blockIdx.y, cuda.grid(1)

    if col < x.shape[1]:
        a, b, c, d = load4(x, (row, col))  # <- here
        e, f, g, h = load4(bias, col)
        store4(out, (row, col), gelu(a + e), gelu(b + f), gelu(c + g), gelu(d + h))
