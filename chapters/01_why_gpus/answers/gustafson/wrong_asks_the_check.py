# verdict: library
# What the check compares with is given.
def gustafson(serial, workers):
    """Return what the check works out."""
    return checks.in_an_hour(serial, workers)  # <- here
