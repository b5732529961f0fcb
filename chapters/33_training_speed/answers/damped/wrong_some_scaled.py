# verdict: wrong-value
# Scale only the elements that are too large.
def damped(x, weight):
    """Add a layer's output to its input, scaled down where it is above MOST."""
    y = x @ weight
    top = y.abs().max()
    return x + torch.where(y.abs() > MOST, y * (MOST / top), y)
