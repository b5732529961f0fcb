# verdict: wrong-value
# Scale the sum.
def damped(x, weight):
    """Add a layer's output to its input, scaled down where it is above MOST."""
    y = x @ weight
    top = y.abs().max()
    return (x + y) * (MOST / top.clamp(min=MOST))
