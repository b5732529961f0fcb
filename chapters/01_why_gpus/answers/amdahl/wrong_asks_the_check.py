# verdict: library
# The check has a function for this, so I call it.
def amdahl(serial, workers):
    """Return the speed-up of `workers` workers over one."""
    return checks.by_the_clock(serial, workers)  # <- here
