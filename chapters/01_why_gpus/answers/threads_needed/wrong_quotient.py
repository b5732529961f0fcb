# verdict: wrong-value
# Bandwidth through latency.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once for a busy memory."""
    return bandwidth * 1000 / latency / each  # <- here
