# verdict: input-written
# Add b to a, as += does.
@cuda.jit
def vector_add(a, b, out):
    """Write a + b into out, one thread per element."""
    i = cuda.grid(1)

    if i < out.size:
        a[i] += b[i]  # <- here
