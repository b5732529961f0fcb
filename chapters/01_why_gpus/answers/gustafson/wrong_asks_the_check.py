# verdict: library
# The check has a function for this, so I call it.
def gustafson(serial, workers):
    """Return the hours one worker needs for what `workers` do in an hour."""
    return checks.in_an_hour(serial, workers)  # <- here
