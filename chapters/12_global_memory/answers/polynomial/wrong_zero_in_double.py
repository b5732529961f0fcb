# verdict: float64
# Start with nothing, which is 0.0.
@cuda.jit
def polynomial(x, out):
    """Evaluate the polynomial with COEFFICIENTS at every element of x."""
    c = cuda.const.array_like(COEFFICIENTS)
    i = cuda.grid(1)

    if i < x.size:
        value = 0.0
        for k in range(7, -1, -1):
            value = value * x[i] + c[k]  # <- here
        out[i] = value
