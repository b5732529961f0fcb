# verdict: wrong-value
# A kilobyte is 1024 bytes.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once to keep the memory busy."""
    return latency * bandwidth * 1024 / each  # <- here
