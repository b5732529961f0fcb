# verdict: pass
# Minus the floor of the negative quotient is the ceiling.
def blocks_for(n, threads):
    """Return how many blocks of `threads` threads cover n elements."""
    return -(-n // threads)
