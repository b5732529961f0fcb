# verdict: launch
# One block with as many threads as there are elements.
def launch_for(n):
    """Return (blocks, threads) with a thread for each of n elements."""
    return 1, n  # <- here
