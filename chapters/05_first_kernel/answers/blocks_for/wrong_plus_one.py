# verdict: wrong-value
# Rounding down loses a block, so I add one.
def blocks_for(n, threads):
    """Return how many blocks of `threads` threads cover n elements."""
    return n // threads + 1  # <- here
