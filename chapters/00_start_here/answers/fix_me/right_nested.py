# verdict: pass
# The work goes inside the test.
@cuda.jit
def fix_me(x, out):
    """Write the square of x into out, one thread per element."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = x[i] * x[i]
