# verdict: input-written
# It is x that should be doubled, so I double x.
@cuda.jit
def double(x, out):
    """Write 2 * x into out, one thread per element."""
    i = cuda.grid(1)

    if i < out.size:
        x[i] = 2 * x[i]  # <- here
