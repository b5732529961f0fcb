# verdict: wrong-value
# Seven steps, each with c[7 - k].
@cuda.jit
def polynomial(x, out):
    """Evaluate the polynomial with COEFFICIENTS at every element of x."""
    c = cuda.const.array_like(COEFFICIENTS)
    i = cuda.grid(1)

    if i < x.size:
        p = c[7]
        for k in range(7):
            p = p * x[i] + c[7 - k]
        out[i] = p
