# verdict: pass
# The loop that comes later in this lab.
@cuda.jit
def vector_add(a, b, out):
    """Write a + b into out, one thread per element."""
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = a[i] + b[i]
