# verdict: pass
# Requests a nanosecond, times nanoseconds.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once for a busy memory."""
    requests = bandwidth * 1e12 / each
    return requests * (latency / 1e9)
