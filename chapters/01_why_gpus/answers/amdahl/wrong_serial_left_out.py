# verdict: wrong-value
# The shared part becomes so much faster.
def amdahl(serial, workers):
    """Return how many times as fast `workers` are as one."""
    return (1 - serial) * workers  # <- here
