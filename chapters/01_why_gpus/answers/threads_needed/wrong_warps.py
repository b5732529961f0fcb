# verdict: wrong-value
# The hardware counts warps.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once for a busy memory."""
    return latency * bandwidth * 1000 / each / 32  # <- here
