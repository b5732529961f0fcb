# verdict: synchronisation
# Print the largest value for the log; but that asks for it.
def damped(x, weight):
    """Add a layer's output to its input, scaled down where it is above MOST."""
    y = x @ weight
    top = y.abs().max()
    print(f"largest: {top:.1f}")  # <- here
    return x + y * (MOST / top).clamp(max=1)
