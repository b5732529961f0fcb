# verdict: uninitialised
# Start from what out holds, which is surely zero.
@cuda.jit
def vector_add(a, b, out):
    """Write a + b into out, one thread per element."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] += a[i] + b[i]  # <- here
