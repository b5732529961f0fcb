# verdict: wrong-value
# Only what all do together.
def gustafson(serial, workers):
    """Return how many hours one needs for an hour's work of `workers`."""
    return (1 - serial) * workers  # <- here
