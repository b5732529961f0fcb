# verdict: float64
# GELU as in the formula, with Python's numbers.
@cuda.jit(device=True)
def my_gelu(z):
    return 0.5 * z * (1 + math.erf(z / math.sqrt(2)))


@cuda.jit
def bias_gelu(x, bias, out):
    """Write the GELU of x + bias into out, four columns per thread."""
    row, col = cuda.blockIdx.y, 4 * cuda.grid(1)

    if col < x.shape[1]:
        a, b, c, d = load4(x, (row, col))
        e, f, g, h = load4(bias, col)
        p, q = my_gelu(a + e), my_gelu(b + f)
        store4(out, (row, col), p, q, my_gelu(c + g), my_gelu(d + h))
