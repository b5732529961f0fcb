# verdict: pass
# One more if there is a remainder.
def blocks_for(n, threads):
    """Return how many blocks of `threads` threads cover n elements."""
    blocks, rest = divmod(n, threads)
    return blocks + 1 if rest else blocks
