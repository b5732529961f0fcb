# verdict: pass
# Two numbers in a list: Numba takes them as well.
def launch_for(n):
    """Return (blocks, threads) with a thread for each of n elements."""
    threads = 128
    return [-(-n // threads), threads]
