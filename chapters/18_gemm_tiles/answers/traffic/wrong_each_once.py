# verdict: wrong-value
# Of the three matrices, two are read.
def traffic(m, n, k, tile):
    """Return the bytes of a and b that blocks of tile x tile elements load."""
    down, across = -(-m // tile), -(-n // tile)
    return 4 * (m * k + k * n)  # <- here
