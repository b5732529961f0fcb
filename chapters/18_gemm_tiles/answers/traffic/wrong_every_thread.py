# verdict: wrong-value
# Two loads for each multiply-add.
def traffic(m, n, k, tile):
    """Return the bytes of a and b that blocks of tile x tile elements load."""
    down, across = -(-m // tile), -(-n // tile)
    return 8 * m * n * k  # <- here
