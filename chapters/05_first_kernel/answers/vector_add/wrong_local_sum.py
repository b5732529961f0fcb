# verdict: unwritten
# c holds the sum.
@cuda.jit
def vector_add(a, b, out):
    """Write a + b into out, one thread per element."""
    i = cuda.grid(1)

    if i < out.size:
        c = a[i] + b[i]
