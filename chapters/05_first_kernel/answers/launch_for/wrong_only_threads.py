# verdict: launch
# Only the number of threads has to be chosen.
def launch_for(n):
    """Return (blocks, threads) with a thread for each of n elements."""
    return 256  # <- here
