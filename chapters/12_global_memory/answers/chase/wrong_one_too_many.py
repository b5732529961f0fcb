# verdict: wrong-value
# Write down where the last link leads.
@cuda.jit
def chase(link, steps, out):
    """Follow `steps` links from place 0; out[0] is where they end."""
    i = uint32(0)

    for _ in range(steps):
        i = link[i]
    out[0] = link[i]  # <- here
