# verdict: pass
# Threads are whole.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once for a busy memory."""
    return math.ceil(latency * bandwidth * 1e3 / each)
