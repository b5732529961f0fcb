# verdict: pass
# Divide by something that is never less than one.
def damped(x, weight):
    """Add a layer's output to its input, scaled down where it is above MOST."""
    y = x @ weight
    return x + y / (y.abs().max() / MOST).clamp(min=1)
