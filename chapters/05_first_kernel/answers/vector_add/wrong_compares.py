# verdict: uninitialised
# I typed one equals sign too many.
@cuda.jit
def vector_add(a, b, out):
    """Write a + b into out."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] == a[i] + b[i]  # <- here
