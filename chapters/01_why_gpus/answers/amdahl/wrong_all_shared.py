# verdict: wrong-value
# n workers, n times as fast.
def amdahl(serial, workers):
    """Return how many times as fast `workers` are as one."""
    return workers  # <- here
