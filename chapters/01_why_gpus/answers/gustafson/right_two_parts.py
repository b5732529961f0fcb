# verdict: pass
# Two parts of the hour, one after the other.
def gustafson(serial, workers):
    """Return how many hours one needs for an hour's work of `workers`."""
    alone = serial * 1
    together = (1 - serial) * workers
    return alone + together
