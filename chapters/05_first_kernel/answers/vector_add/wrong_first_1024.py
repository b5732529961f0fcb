# verdict: unwritten
# Right for up to 1024 elements only.
@cuda.jit
def vector_add(a, b, out):
    """Write a + b into out, one thread per element."""
    i = cuda.grid(1)

    if i < out.size and i < 1024:
        out[i] = a[i] + b[i]  # <- here
