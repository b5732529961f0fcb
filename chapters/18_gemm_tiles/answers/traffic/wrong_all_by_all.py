# verdict: wrong-value
# Each block loads both matrices.
def traffic(m, n, k, tile):
    """Return the bytes of a and b that blocks of tile x tile elements load."""
    down, across = -(-m // tile), -(-n // tile)  # blocks
    return 4 * (across * down * (m * k + k * n))
