# verdict: loads
# Thread 0 does it all.
@cuda.jit
def interleave(a, b, out):
    """Write a[0], b[0], a[1], b[1], ... into out, one thread per pair."""
    i = cuda.grid(1)

    if i == 0:
        for k in range(a.size):
            out[2 * k] = a[k]  # <- here
            out[2 * k + 1] = b[k]
