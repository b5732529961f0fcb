# verdict: pass
# Blocks of one warp are allowed.
def launch_for(n):
    """Return (blocks, threads) with a thread for each of n elements."""
    blocks = 0
    while blocks * 32 < n:
        blocks += 1
    return blocks, 32
