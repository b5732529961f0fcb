# verdict: wrong-value
# Twice a number is the number times itself, isn't it?
@cuda.jit
def double(x, out):
    """Write 2 * x into out, one thread per element."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = x[i] * x[i]  # <- here
