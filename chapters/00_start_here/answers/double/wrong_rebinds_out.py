# verdict: unwritten
# out is the result, so I assign the result to it.
@cuda.jit
def double(x, out):
    """Write 2 * x into out, one thread per element."""
    i = cuda.grid(1)

    if i < out.size:
        out = 2 * x[i]
