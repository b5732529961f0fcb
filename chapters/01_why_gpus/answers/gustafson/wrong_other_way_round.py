# verdict: wrong-value
# All of them work in the serial part.
def gustafson(serial, workers):
    """Return how many hours one needs for an hour's work of `workers`."""
    return 1 - serial + serial * workers  # <- here
