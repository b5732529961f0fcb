# verdict: wrong-value
# One works all the hour, and the others besides.
def gustafson(serial, workers):
    """Return how many hours one needs for an hour's work of `workers`."""
    return 1 + (1 - serial) * workers  # <- here
