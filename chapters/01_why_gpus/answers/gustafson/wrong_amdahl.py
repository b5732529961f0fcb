# verdict: wrong-value
# The law from before.
def gustafson(serial, workers):
    """Return how many hours one needs for an hour's work of `workers`."""
    return 1 / (serial + (1 - serial) / workers)  # <- here
