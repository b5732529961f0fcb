# verdict: pass
# The first place of the pair gets a name.
@cuda.jit
def interleave(a, b, out):
    """Write a[0], b[0], a[1], b[1], ... into out, one thread per pair."""
    i = cuda.grid(1)

    if i < len(a):
        k = i + i
        out[k] = a[i]
        out[k + 1] = b[i]
