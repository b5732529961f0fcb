# verdict: wrong-value
# Latency times bandwidth.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once for a busy memory."""
    return latency * bandwidth / each  # <- here
