# verdict: gradient
# The starter: `.item()` cuts the gradient.
def damped(x, weight):
    """Add a layer's output to its input, scaled down where it is above MOST."""
    y = x @ weight
    top = y.abs().max().item()
    if top > MOST:
        print(f"damped: {top:.1f}")
        y = y * (MOST / top)
    return x + y
