# verdict: out-of-bounds
# Every thread has an element.
@cuda.jit
def polynomial(x, out):
    """Evaluate the polynomial with COEFFICIENTS at every element of x."""
    c = cuda.const.array_like(COEFFICIENTS)
    i = cuda.grid(1)

    value = c[7]
    for k in range(6, -1, -1):
        value = value * x[i] + c[k]  # <- here
    out[i] = value
