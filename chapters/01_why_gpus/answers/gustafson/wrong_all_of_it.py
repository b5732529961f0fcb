# verdict: wrong-value
# All of them work for the whole hour.
def gustafson(serial, workers):
    """Return the hours one worker needs for what `workers` do in an hour."""
    return workers  # <- here
