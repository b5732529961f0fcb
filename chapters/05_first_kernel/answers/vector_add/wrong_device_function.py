# verdict: type
# What runs on the device must be a device function.
@cuda.jit(device=True)
def vector_add(a, b, out):
    """Write a + b into out, one thread per element."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = a[i] + b[i]
