# verdict: wrong-value
# Tera is ten to the nine.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once for a busy memory."""
    return latency * 1e-9 * bandwidth * 1e9 / each  # <- here
