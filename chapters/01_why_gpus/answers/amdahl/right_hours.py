# verdict: pass
# By hand: an hour, and what is left of it.
def amdahl(serial, workers):
    """Return how many times as fast `workers` are as one."""
    shared = 1 - serial
    time = serial
    time += shared / workers
    return 1.0 / time
