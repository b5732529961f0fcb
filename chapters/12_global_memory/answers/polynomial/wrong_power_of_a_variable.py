# verdict: float64
# Every term is computed by itself, with a power.
@cuda.jit
def polynomial(x, out):
    """Evaluate the polynomial with COEFFICIENTS at every element of x."""
    c = cuda.const.array_like(COEFFICIENTS)
    i = cuda.grid(1)

    if i < x.size:
        p = float32(0)
        for k in range(8):
            p += c[k] * x[i] ** k  # <- here
        out[i] = p
