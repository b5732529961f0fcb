# verdict: pass
# Count the steps down.
@cuda.jit
def chase(link, steps, out):
    """Follow `steps` links from place 0; out[0] is where they end."""
    i = uint32(0)

    left = steps
    while left > 0:
        i = link[i]
        left -= 1
    out[0] = i
