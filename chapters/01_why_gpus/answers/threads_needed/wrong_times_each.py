# verdict: wrong-value
# The more bytes per thread, the more threads.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once to keep the memory busy."""
    return latency * bandwidth * 1000 * each  # <- here
