# verdict: type
# NumPy doubles a whole array at once; so will this.
@cuda.jit
def double(x, out):
    """Write 2 * x into out, one thread per element."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = 2 * x  # <- here
