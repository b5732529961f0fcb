# verdict: wrong-value
# Computed, printed, but not returned.
def blocks_for(n, threads):
    """Return how many blocks of `threads` threads cover n elements."""
    blocks = (n + threads - 1) // threads
    print(blocks)
