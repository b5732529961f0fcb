# verdict: wrong-value
# Bandwidth divided by latency.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once to keep the memory busy."""
    return bandwidth * 1000 / latency / each  # <- here
