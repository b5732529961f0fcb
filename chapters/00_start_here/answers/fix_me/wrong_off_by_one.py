# verdict: out-of-bounds
# Threads beyond the size have to stop, so I stop those whose number is greater.
@cuda.jit
def fix_me(x, out):
    """Write the square of x into out, one thread per element."""
    i = cuda.grid(1)

    if i > out.size:
        return

    out[i] = x[i] * x[i]  # <- here
