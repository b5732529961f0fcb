# verdict: wrong-value
# Start with the first coefficient.
@cuda.jit
def polynomial(x, out):
    """Evaluate the polynomial with COEFFICIENTS at every element of x."""
    c = cuda.const.array_like(COEFFICIENTS)
    i = cuda.grid(1)

    if i < x.size:
        value = c[0]
        for k in range(1, 8):
            value = value * x[i] + c[k]
        out[i] = value  # <- here
