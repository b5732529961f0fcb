# verdict: wrong-value
# GELU by a sigmoid, as some networks have it.
@cuda.jit
def bias_gelu(x, bias, out):
    """Write the GELU of x + bias into out, four columns per thread."""
    row, col = cuda.blockIdx.y, 4 * cuda.grid(1)

    if col < x.shape[1]:
        a, b, c, d = load4(x, (row, col))
        e, f, g, h = load4(bias, col)
        a, b, c, d = a + e, b + f, c + g, d + h
        k = float32(-1.702)
        a, b = a / (1 + math.exp(k * a)), b / (1 + math.exp(k * b))
        c, d = c / (1 + math.exp(k * c)), d / (1 + math.exp(k * d))
        store4(out, (row, col), a, b, c, d)
