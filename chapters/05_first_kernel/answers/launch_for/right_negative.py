# verdict: pass
# Rounded up with two minus signs.
def launch_for(n):
    """Return (blocks, threads) with a thread for each of n elements."""
    return -(-n // 512), 512
