# verdict: pass
# One rounding per step.
@cuda.jit
def polynomial(x, out):
    """Evaluate the polynomial with COEFFICIENTS at every element of x."""
    c = cuda.const.array_like(COEFFICIENTS)
    i = cuda.grid(1)

    if i < x.size:
        value = c[7]
        for k in range(7):
            value = cuda.fma(value, x[i], c[6 - k])
        out[i] = value
