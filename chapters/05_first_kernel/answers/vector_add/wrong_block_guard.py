# verdict: unwritten
# A block has blockDim threads, so the index must be below that.
@cuda.jit
def vector_add(a, b, out):
    """Write a + b into out, one thread per element."""
    i = cuda.grid(1)

    if i < cuda.blockDim.x:
        out[i] = a[i] + b[i]
