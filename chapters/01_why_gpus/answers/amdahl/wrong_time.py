# verdict: wrong-value
# The new time is the answer.
def amdahl(serial, workers):
    """Return how many times as fast `workers` are as one."""
    return serial + (1 - serial) / workers  # <- here
