# verdict: wrong-value
# Add, then multiply.
@cuda.jit
def polynomial(x, out):
    """Evaluate the polynomial with COEFFICIENTS at every element of x."""
    c = cuda.const.array_like(COEFFICIENTS)
    i = cuda.grid(1)

    if i < x.size:
        p = c[7]
        for k in range(6, -1, -1):
            p = (p + c[k]) * x[i]
        out[i] = p
