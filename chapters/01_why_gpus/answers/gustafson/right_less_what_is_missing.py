# verdict: pass
# What is missing to the full number of workers.
def gustafson(serial, workers):
    """Return how many hours one needs for an hour's work of `workers`."""
    return workers - serial * (workers - 1)
