# verdict: wrong-value
# Start with c[7], and go through all eight coefficients.
@cuda.jit
def polynomial(x, out):
    """Evaluate the polynomial with COEFFICIENTS at every element of x."""
    c = cuda.const.array_like(COEFFICIENTS)
    i = cuda.grid(1)

    if i < x.size:
        p = c[7]
        for k in range(7, -1, -1):
            p = p * x[i] + c[k]
        out[i] = p
