# verdict: wrong-value
# Latency in seconds already.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once for a busy memory."""
    return latency * bandwidth * 1e12 / each  # <- here
