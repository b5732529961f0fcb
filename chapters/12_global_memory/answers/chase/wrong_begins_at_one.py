# verdict: wrong-value
# range starts at 1, because there is one link already.
@cuda.jit
def chase(link, steps, out):
    """Follow `steps` links from place 0; out[0] is where they end."""
    i = uint32(0)

    for _ in range(1, steps):
        i = link[i]
    out[0] = i  # <- here
