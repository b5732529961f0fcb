# verdict: wrong-value
# One works for the whole hour; on top of that, all of them share the rest.
def gustafson(serial, workers):
    """Return the hours one worker needs for what `workers` do in an hour."""
    return 1 + (1 - serial) * workers  # <- here
