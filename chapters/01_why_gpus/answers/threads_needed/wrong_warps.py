# verdict: wrong-value
# The hardware counts warps, not threads.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once to keep the memory busy."""
    return latency * bandwidth * 1000 / each / 32  # <- here
