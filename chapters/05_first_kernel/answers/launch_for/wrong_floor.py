# verdict: launch
# Whole blocks, so a whole division.
def launch_for(n):
    """Return (blocks, threads) with a thread for each of n elements."""
    return max(n // 256, 1), 256  # <- here
