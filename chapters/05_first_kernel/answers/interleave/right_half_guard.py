# verdict: pass
# The output has two places for each thread.
@cuda.jit
def interleave(a, b, out):
    """Write a[0], b[0], a[1], b[1], ... into out, one thread per pair."""
    i = cuda.grid(1)

    if 2 * i + 1 < out.size:
        out[2 * i + 1] = b[i]
        out[2 * i] = a[i]
