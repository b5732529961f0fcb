# verdict: synchronisation
# The value stays a tensor; but the `if` asks for it.
def damped(x, weight):
    """Add a layer's output to its input, scaled down where it is above MOST."""
    y = x @ weight
    top = y.abs().max()
    if top > MOST:  # <- here
        y = y * (MOST / top)
    return x + y
