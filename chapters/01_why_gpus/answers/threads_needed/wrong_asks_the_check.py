# verdict: library
# The check has a function for this, so I call it.
def threads_needed(latency, bandwidth, each):
    """Return how many threads have to wait at once to keep the memory busy."""
    return checks.one_by_one(latency, bandwidth, each)  # <- here
