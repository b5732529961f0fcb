# verdict: wrong-value
# A load goes there and comes back, so its latency counts twice.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once to keep the memory busy."""
    return 2 * latency * bandwidth * 1000 / each  # <- here
