# verdict: type
# The right number, as a float.
def traffic(m, n, k, tile):
    """Return the bytes of a and b that blocks of tile x tile elements load."""
    across, down = -(-n // tile), -(-m // tile)
    return 4.0 * k * (across * m + down * n)  # <- here
