# verdict: wrong-value
# Forget that an output may be negative.
def damped(x, weight):
    """Add a layer's output to its input, scaled down where it is above MOST."""
    y = x @ weight
    top = y.max()
    return x + y * (MOST / top.clamp(min=MOST))
