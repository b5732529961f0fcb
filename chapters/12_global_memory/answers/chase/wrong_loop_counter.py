# verdict: wrong-value
# Read all links, one after another.
@cuda.jit
def chase(link, steps, out):
    """Follow `steps` links from place 0; out[0] is where they end."""
    i = uint32(0)

    for k in range(steps):
        i = link[k % link.size]
    out[0] = i  # <- here
