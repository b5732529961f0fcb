# verdict: pass
# Nanoseconds times TB/s gives kilobytes.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once to keep the memory busy."""
    kilobytes = latency * bandwidth
    return kilobytes * 1000 / each
