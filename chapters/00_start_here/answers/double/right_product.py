# verdict: pass
# Doubling is multiplying by 2.
@cuda.jit
def double(x, out):
    """Write 2 * x into out, one thread per element."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = 2 * x[i]
