# verdict: wrong-value
# Every block loads full tiles.
def traffic(m, n, k, tile):
    """Return the bytes of a and b that blocks of tile x tile elements load."""
    down, across = -(-m // tile), -(-n // tile)
    return 4 * down * across * 2 * tile * k  # <- here
