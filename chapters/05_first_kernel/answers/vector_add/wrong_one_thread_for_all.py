# verdict: loads
# A loop over the elements, as in Python; one thread is enough for it.
@cuda.jit
def vector_add(a, b, out):
    """Write a + b into out, one thread per element."""
    i = cuda.grid(1)

    if i == 0:
        for k in range(out.size):
            out[k] = a[k] + b[k]  # <- here
