# verdict: pass
# Requests per second, times the latency in seconds.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once to keep the memory busy."""
    requests = bandwidth * 1e12 / each
    return requests * (latency / 1e9)
