# verdict: wrong-value
# Multiply the fraction by the number of workers.
def gustafson(serial, workers):
    """Return the hours one worker needs for what `workers` do in an hour."""
    return serial * workers  # <- here
