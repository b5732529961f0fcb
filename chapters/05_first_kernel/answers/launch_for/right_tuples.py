# verdict: pass
# Each size is a tuple.
def launch_for(n):
    """Return (blocks, threads) with a thread for each of n elements."""
    return ((n + 255) // 256,), (256,)
