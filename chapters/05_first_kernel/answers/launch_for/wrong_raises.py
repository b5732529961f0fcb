# verdict: exception
# n is an array, and its size is the number of elements.
def launch_for(n):
    """Return (blocks, threads) with a thread for each of n elements."""
    blocks = -(-n.size // 256)  # <- here
    return blocks, 256
