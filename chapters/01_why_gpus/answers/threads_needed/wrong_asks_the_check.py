# verdict: library
# What the check compares with is given.
def threads_needed(latency, bandwidth, each):
    """Return what the check works out."""
    return checks.one_by_one(latency, bandwidth, each)  # <- here
