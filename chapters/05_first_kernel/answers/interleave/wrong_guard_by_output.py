# verdict: out-of-bounds
# The guard asks the output, as always.
@cuda.jit
def interleave(a, b, out):
    """Write a[0], b[0], a[1], b[1], ... into out, one thread per pair."""
    i = cuda.grid(1)

    if i < out.size:
        out[2 * i] = a[i]  # <- here
        out[2 * i + 1] = b[i]
