# verdict: wrong-value
# The answer is the number of bytes in flight.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once to keep the memory busy."""
    return latency * bandwidth * 1000  # <- here
