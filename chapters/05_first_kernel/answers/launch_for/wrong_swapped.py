# verdict: launch
# Threads first, then blocks.
def launch_for(n):
    """Return (blocks, threads) with a thread for each of n elements."""
    blocks = (n + 63) // 64
    return 64, blocks  # <- here
