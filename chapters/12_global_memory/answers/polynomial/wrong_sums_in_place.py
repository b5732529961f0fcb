# verdict: type
# Add up in the coefficients themselves.
@cuda.jit
def polynomial(x, out):
    """Evaluate the polynomial with COEFFICIENTS at every element of x."""
    c = cuda.const.array_like(COEFFICIENTS)
    i = cuda.grid(1)

    if i < x.size:
        for k in range(6, -1, -1):
            c[k] += c[k + 1] * x[i]  # <- here
        out[i] = c[0]
