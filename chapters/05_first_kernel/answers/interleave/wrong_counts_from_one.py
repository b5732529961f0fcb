# verdict: out-of-bounds
# a goes to the odd places, b to the even ones after them.
@cuda.jit
def interleave(a, b, out):
    """Write a[0], b[0], a[1], b[1], ... into out, one thread per pair."""
    i = cuda.grid(1)

    if i < a.size:
        out[2 * i + 1] = a[i]
        out[2 * i + 2] = b[i]  # <- here
