# verdict: wrong-value
# The answer is the number of elements that are loaded.
def traffic(m, n, k, tile):
    """Return the bytes of a and b that blocks of tile x tile elements load."""
    down, across = -(-m // tile), -(-n // tile)
    return across * m * k + down * k * n  # <- here
