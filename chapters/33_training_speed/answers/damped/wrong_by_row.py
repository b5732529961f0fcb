# verdict: wrong-value
# Each row gets its own scale.
def damped(x, weight):
    """Add a layer's output to its input, scaled down where it is above MOST."""
    y = x @ weight
    top = y.abs().amax(1, keepdim=True)
    return x + y * (MOST / top).clamp(max=1)
