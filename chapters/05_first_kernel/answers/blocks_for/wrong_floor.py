# verdict: wrong-value
# How many times does threads go into n?
def blocks_for(n, threads):
    """Return how many blocks of `threads` threads cover n elements."""
    return n // threads  # <- here
