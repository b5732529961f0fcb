# verdict: wrong-value
# Latency times bandwidth; the units take care of themselves.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once to keep the memory busy."""
    return latency * bandwidth / each  # <- here
