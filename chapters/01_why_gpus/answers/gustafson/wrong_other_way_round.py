# verdict: wrong-value
# All of them work in the serial part.
def gustafson(serial, workers):
    """Return the hours one worker needs for what `workers` do in an hour."""
    return 1 - serial + serial * workers  # <- here
