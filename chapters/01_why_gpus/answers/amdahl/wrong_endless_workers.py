# verdict: wrong-value
# The law is one through the serial part.
def amdahl(serial, workers):
    """Return how many times as fast `workers` are as one."""
    return 1 / serial  # <- here
