# verdict: wrong-value
# Tera is ten to the ninth.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once to keep the memory busy."""
    return latency * 1e-9 * bandwidth * 1e9 / each  # <- here
