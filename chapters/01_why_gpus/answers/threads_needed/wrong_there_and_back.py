# verdict: wrong-value
# The way there, and the way back.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once for a busy memory."""
    return 2 * latency * bandwidth * 1000 / each  # <- here
