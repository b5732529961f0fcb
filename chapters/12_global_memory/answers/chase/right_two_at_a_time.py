# verdict: pass
# Two links per iteration, and one more if the number is odd.
@cuda.jit
def chase(link, steps, out):
    """Follow `steps` links from place 0; out[0] is where they end."""
    i = uint32(0)

    for _ in range(steps // 2):
        i = link[link[i]]
    if steps % 2 == 1:
        i = link[i]
    out[0] = i
