# verdict: wrong-value
# Rows of a go down, columns of b across.
def traffic(m, n, k, tile):
    """Return the bytes of a and b that blocks of tile x tile elements load."""
    down, across = -(-m // tile), -(-n // tile)
    return 4 * (down * m * k + across * k * n)  # <- here
