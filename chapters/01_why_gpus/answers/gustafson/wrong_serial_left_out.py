# verdict: wrong-value
# Only what all of them do together counts.
def gustafson(serial, workers):
    """Return the hours one worker needs for what `workers` do in an hour."""
    return (1 - serial) * workers  # <- here
