# verdict: type
# Elements divided by threads.
def blocks_for(n, threads):
    """Return how many blocks of `threads` threads cover n elements."""
    return n / threads  # <- here
