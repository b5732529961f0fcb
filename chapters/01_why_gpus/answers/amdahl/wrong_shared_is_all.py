# verdict: wrong-value
# The serial part, and the work divided.
def amdahl(serial, workers):
    """Return how many times as fast `workers` are as one."""
    return 1 / (serial + 1 / workers)  # <- here
