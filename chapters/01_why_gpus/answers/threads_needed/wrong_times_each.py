# verdict: wrong-value
# More bytes, more threads.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once for a busy memory."""
    return latency * bandwidth * 1000 * each  # <- here
