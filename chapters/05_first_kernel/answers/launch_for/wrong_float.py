# verdict: launch
# Elements divided by threads.
def launch_for(n):
    """Return (blocks, threads) with a thread for each of n elements."""
    return n / 256, 256  # <- here
