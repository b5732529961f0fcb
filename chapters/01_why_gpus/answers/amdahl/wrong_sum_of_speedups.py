# verdict: wrong-value
# Each part times its speed-up, weighted.
def amdahl(serial, workers):
    """Return how many times as fast `workers` are as one."""
    return serial + (1 - serial) * workers  # <- here
