# verdict: pass
# Floor of the negative is the ceiling.
def blocks_for(n, threads):
    """Return how many blocks of `threads` threads cover n elements."""
    return -(-n // threads)
