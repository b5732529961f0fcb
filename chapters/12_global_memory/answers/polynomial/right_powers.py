# verdict: pass
# Powers of x, in single precision, from the front.
@cuda.jit
def polynomial(x, out):
    """Evaluate the polynomial with COEFFICIENTS at every element of x."""
    c = cuda.const.array_like(COEFFICIENTS)
    i = cuda.grid(1)

    if i < x.size:
        value, power = c[0], float32(1)
        for k in range(1, 8):
            power *= x[i]
            value += c[k] * power
        out[i] = value
