# verdict: wrong-value
# Python counts from 0, so the element before mine is meant.
@cuda.jit
def vector_add(a, b, out):
    """Write a + b into out, one thread per element."""
    i = cuda.grid(1)

    if 0 < i < out.size:
        out[i] = a[i - 1] + b[i - 1]
    elif i == 0:
        out[i] = a[0] + b[0]
