# verdict: out-of-bounds
# A link says how far to go.
@cuda.jit
def chase(link, steps, out):
    """Follow `steps` links from place 0; out[0] is where they end."""
    i = uint32(0)

    for _ in range(steps):
        i += link[i]  # <- here
    out[0] = i
