# verdict: wrong-value
# Round the quotient.
def blocks_for(n, threads):
    """Return how many blocks of `threads` threads cover n elements."""
    return round(n / threads)  # <- here
