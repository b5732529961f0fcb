# verdict: wrong-value
# The library knows best.
def fastest(run, count):
    """Return the number of the fastest of `count` algorithms."""
    return 0  # <- here
