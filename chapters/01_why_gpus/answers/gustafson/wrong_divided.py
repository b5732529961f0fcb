# verdict: wrong-value
# Sharing is dividing.
def gustafson(serial, workers):
    """Return how many hours one needs for an hour's work of `workers`."""
    return serial + (1 - serial) / workers  # <- here
