# verdict: unwritten
# a goes to i, b to the place after it.
@cuda.jit
def interleave(a, b, out):
    """Write a[0], b[0], a[1], b[1], ... into out, one thread per pair."""
    i = cuda.grid(1)

    if i < a.size:
        out[i] = a[i]
        out[i + 1] = b[i]
