# verdict: pass
# All workers, less those that only watch during the serial part.
def gustafson(serial, workers):
    """Return the hours one worker needs for what `workers` do in an hour."""
    return workers - serial * (workers - 1)
