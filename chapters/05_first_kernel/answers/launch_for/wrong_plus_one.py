# verdict: launch
# Add one block, to be safe.
def launch_for(n):
    """Return (blocks, threads) with a thread for each of n elements."""
    return n // 256 + 1, 256  # <- here
