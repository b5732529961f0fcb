# verdict: unwritten
# The guard compares i with the size; I did not think about which side returns.
@cuda.jit
def fix_me(x, out):
    """Write the square of x into out, one thread per element."""
    i = cuda.grid(1)

    if i < out.size:
        return

    out[i] = x[i] * x[i]
