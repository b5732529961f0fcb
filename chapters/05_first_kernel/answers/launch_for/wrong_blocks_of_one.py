# verdict: launch
# One thread per block is the simplest.
def launch_for(n):
    """Return (blocks, threads) with a thread for each of n elements."""
    return n, 1  # <- here
