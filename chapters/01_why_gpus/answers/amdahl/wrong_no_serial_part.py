# verdict: wrong-value
# Only the shared part counts.
def amdahl(serial, workers):
    """Return how many times as fast `workers` are as one."""
    return workers / (1 - serial)  # <- here
