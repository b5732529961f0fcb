# verdict: wrong-value
# serial is the part that gets divided.
def amdahl(serial, workers):
    """Return how many times as fast `workers` are as one."""
    return 1 / (1 - serial + serial / workers)  # <- here
