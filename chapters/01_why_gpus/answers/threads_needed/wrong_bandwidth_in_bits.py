# verdict: wrong-value
# Bandwidths are given in bits.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once to keep the memory busy."""
    return latency * bandwidth * 1000 / 8 / each  # <- here
