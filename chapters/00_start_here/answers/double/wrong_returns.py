# verdict: exception
# A function returns its result.
@cuda.jit
def double(x, out):
    """Write 2 * x into out, one thread per element."""
    i = cuda.grid(1)

    if i < out.size:
        return 2 * x[i]
