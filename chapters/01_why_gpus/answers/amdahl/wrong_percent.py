# verdict: wrong-value
# A fraction is per cent.
def amdahl(serial, workers):
    """Return how many times as fast `workers` are as one."""
    return 1 / (serial / 100 + (1 - serial / 100) / workers)  # <- here
