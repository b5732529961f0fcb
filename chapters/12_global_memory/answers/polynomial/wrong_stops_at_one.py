# verdict: wrong-value
# range(6, 0, -1) goes down to 0.
@cuda.jit
def polynomial(x, out):
    """Evaluate the polynomial with COEFFICIENTS at every element of x."""
    c = cuda.const.array_like(COEFFICIENTS)
    i = cuda.grid(1)

    if i < x.size:
        value = c[7]
        for k in range(6, 0, -1):
            value = value * x[i] + c[k]
        out[i] = value  # <- here
