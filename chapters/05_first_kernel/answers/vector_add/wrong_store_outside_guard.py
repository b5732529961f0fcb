# verdict: exception
# Only the sum needs the guard; all threads may store.
@cuda.jit
def vector_add(a, b, out):
    """Write a + b into out, one thread per element."""
    i = cuda.grid(1)

    if i < out.size:
        total = a[i] + b[i]
    out[i] = total  # <- here
