# verdict: out-of-bounds
# One thread per element, so thread i adds element i.
@cuda.jit
def vector_add(a, b, out):
    """Write a + b into out, one thread per element."""
    i = cuda.grid(1)

    out[i] = a[i] + b[i]  # <- here
