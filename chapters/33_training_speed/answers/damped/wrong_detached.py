# verdict: gradient
# Keep what `.item()` did: the scale has no gradient.
def damped(x, weight):
    """Add a layer's output to its input, scaled down where it is above MOST."""
    y = x @ weight
    top = y.detach().abs().max()
    return x + y * (MOST / top).clamp(max=1)
