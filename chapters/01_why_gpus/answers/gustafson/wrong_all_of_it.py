# verdict: wrong-value
# All work for the whole hour.
def gustafson(serial, workers):
    """Return how many hours one needs for an hour's work of `workers`."""
    return workers  # <- here
