# verdict: wrong-value
# Shown is returned.
def amdahl(serial, workers):
    """Return how many times as fast `workers` are as one."""
    speedup = 1 / (serial + (1 - serial) / workers)
    print(speedup)
