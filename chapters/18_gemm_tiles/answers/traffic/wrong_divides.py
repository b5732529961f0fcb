# verdict: wrong-value
# Tiles divide the traffic of the direct kernel by their width.
def traffic(m, n, k, tile):
    """Return the bytes of a and b that blocks of tile x tile elements load."""
    down, across = -(-m // tile), -(-n // tile)
    return 8 * m * n * k // tile  # <- here
