# verdict: pass
# ns times TB/s is kilobytes.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once for a busy memory."""
    kilobytes = latency * bandwidth
    return kilobytes * 1000 / each
