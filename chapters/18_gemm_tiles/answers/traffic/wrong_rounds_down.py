# verdict: wrong-value
# There are m // tile blocks.
def traffic(m, n, k, tile):
    """Return the bytes of a and b that blocks of tile x tile elements load."""
    down, across = m // tile, n // tile
    return 4 * (across * m * k + down * k * n)  # <- here
