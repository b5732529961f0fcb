# verdict: launch
# Blocks are whole, so the division is whole, too.
def launch_for(n):
    """Return (blocks, threads) with a thread for each of n elements."""
    return max(n // 256, 1), 256  # <- here
