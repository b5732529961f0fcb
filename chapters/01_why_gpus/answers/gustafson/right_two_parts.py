# verdict: pass
# Two parts of the hour, one after the other.
def gustafson(serial, workers):
    """Return the hours one worker needs for what `workers` do in an hour."""
    alone = serial * 1
    together = (1 - serial) * workers
    return alone + together
