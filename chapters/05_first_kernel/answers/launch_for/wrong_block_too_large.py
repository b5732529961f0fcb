# verdict: launch
# The more threads in a block, the better.
def launch_for(n):
    """Return (blocks, threads) with a thread for each of n elements."""
    threads = 2048
    return (n + threads - 1) // threads, threads  # <- here
