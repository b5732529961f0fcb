# verdict: launch
# The kernel asks by itself which threads have something to do.
def launch_for(n):
    """Return (blocks, threads) with a thread for each of n elements."""
    blocks = -(-n // 256)
    return (blocks, 2), (256, 1)  # <- here
