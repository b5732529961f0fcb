# verdict: launch
# Three dimensions, the last of them 1; but the third value is the stream.
def launch_for(n):
    """Return (blocks, threads) with a thread for each of n elements."""
    return -(-n // 256), 256, 1  # <- here
