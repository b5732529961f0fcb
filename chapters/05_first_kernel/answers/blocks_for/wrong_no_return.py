# verdict: wrong-value
# I computed and printed it, but did not return it.
def blocks_for(n, threads):
    """Return how many blocks of `threads` threads cover n elements."""
    blocks = (n + threads - 1) // threads
    print(blocks)
