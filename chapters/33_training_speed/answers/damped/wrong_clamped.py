# verdict: wrong-value
# Cut off each element instead of scaling all of them.
def damped(x, weight):
    """Add a layer's output to its input, scaled down where it is above MOST."""
    y = x @ weight
    return x + y.clamp(-MOST, MOST)
