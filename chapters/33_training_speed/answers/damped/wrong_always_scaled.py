# verdict: wrong-value
# Scale every time.
def damped(x, weight):
    """Add a layer's output to its input, scaled down where it is above MOST."""
    y = x @ weight
    top = y.abs().max()
    return x + y * (MOST / top)
