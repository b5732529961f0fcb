# verdict: exception
# The shape of out says how long it is.
@cuda.jit
def vector_add(a, b, out):
    """Write a + b into out, one thread per element."""
    i = cuda.grid(1)

    if i < out.shape:  # <- here
        out[i] = a[i] + b[i]
