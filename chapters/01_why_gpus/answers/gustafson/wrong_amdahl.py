# verdict: wrong-value
# Amdahl's law again.
def gustafson(serial, workers):
    """Return the hours one worker needs for what `workers` do in an hour."""
    return 1 / (serial + (1 - serial) / workers)  # <- here
