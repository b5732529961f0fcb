# verdict: pass
# Leave first, then work.
@cuda.jit
def vector_add(a, b, out):
    """Write a + b into out, one thread per element."""
    i = cuda.grid(1)

    if i >= a.shape[0]:
        return
    out[i] = a[i] + b[i]
