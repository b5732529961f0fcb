# verdict: graph-break
# It no longer prints a value, but it still prints.
def damped(x, weight):
    """Add a layer's output to its input, scaled down where it is above MOST."""
    y = x @ weight
    print("damped")  # <- here
    return x + y * (MOST / y.abs().max()).clamp(max=1)
