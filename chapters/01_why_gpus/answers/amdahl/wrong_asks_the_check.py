# verdict: library
# What the check compares with is given.
def amdahl(serial, workers):
    """Return what the check works out."""
    return checks.by_the_clock(serial, workers)  # <- here
