# verdict: exception
# The element count is an array attribute.
def launch_for(n):
    """Return (blocks, threads) with a thread for each of n elements."""
    blocks = -(-n.size // 256)  # <- here
    return blocks, 256
