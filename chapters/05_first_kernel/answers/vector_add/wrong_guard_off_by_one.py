# verdict: out-of-bounds
# The index may go up to the size.
@cuda.jit
def vector_add(a, b, out):
    """Write a + b into out, one thread per element."""
    i = cuda.grid(1)

    if i <= out.size:
        out[i] = a[i] + b[i]  # <- here
