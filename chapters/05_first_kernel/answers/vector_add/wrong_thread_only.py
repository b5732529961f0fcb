# verdict: unwritten
# threadIdx is the number of the thread, so it is the index.
@cuda.jit
def vector_add(a, b, out):
    """Write a + b into out, one thread per element."""
    i = cuda.threadIdx.x

    if i < out.size:
        out[i] = a[i] + b[i]
