# verdict: pass
# The fraction multiplied by the workers.
def amdahl(serial, workers):
    """Return how many times as fast `workers` are as one."""
    return workers / (workers * serial + 1 - serial)
