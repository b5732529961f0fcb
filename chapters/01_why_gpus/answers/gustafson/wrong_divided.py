# verdict: wrong-value
# Sharing is dividing.
def gustafson(serial, workers):
    """Return the hours one worker needs for what `workers` do in an hour."""
    return serial + (1 - serial) / workers  # <- here
