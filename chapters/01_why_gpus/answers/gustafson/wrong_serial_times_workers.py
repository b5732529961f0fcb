# verdict: wrong-value
# The fraction times the workers.
def gustafson(serial, workers):
    """Return how many hours one needs for an hour's work of `workers`."""
    return serial * workers  # <- here
