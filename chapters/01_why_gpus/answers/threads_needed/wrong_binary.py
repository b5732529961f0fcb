# verdict: wrong-value
# A kilobyte is 1024 bytes.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once for a busy memory."""
    return latency * bandwidth * 1024 / each  # <- here
