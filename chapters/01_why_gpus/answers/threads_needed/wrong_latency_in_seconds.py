# verdict: wrong-value
# The latency is already in seconds.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once to keep the memory busy."""
    return latency * bandwidth * 1e12 / each  # <- here
