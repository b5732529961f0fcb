# verdict: wrong-value
# What is in flight.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once for a busy memory."""
    return latency * bandwidth * 1000  # <- here
