# verdict: unwritten
# A block has 32 threads, so indices from 32 on are too large.
@cuda.jit
def fix_me(x, out):
    """Write the square of x into out, one thread per element."""
    i = cuda.grid(1)

    if i >= 32:
        return

    out[i] = x[i] * x[i]
