# verdict: wrong-value
# Range begins at 1, as there is one link already.
@cuda.jit
def chase(link, steps, out):
    """Follow that many links from place 0; out[0] is where they end."""
    i = uint32(0)

    for _ in range(1, steps):
        i = link[i]
    out[0] = i  # <- here
