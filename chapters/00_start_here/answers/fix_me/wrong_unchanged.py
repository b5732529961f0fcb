# verdict: out-of-bounds
# The kernel as it was given: 64 threads, 50 elements, no guard.
@cuda.jit
def fix_me(x, out):
    """Write the square of x into out, one thread per element."""
    i = cuda.grid(1)

    out[i] = x[i] * x[i]  # <- here
