# verdict: launch
# Three dimensions, of which the last is 1. The third value is the stream.
def launch_for(n):
    """Return (blocks, threads) with a thread for each of n elements."""
    return -(-n // 256), 256, 1  # <- here
