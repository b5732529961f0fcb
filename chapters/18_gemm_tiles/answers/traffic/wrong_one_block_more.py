# verdict: wrong-value
# One block more than fit completely.
def traffic(m, n, k, tile):
    """Return the bytes of a and b that blocks of tile x tile elements load."""
    down, across = m // tile + 1, n // tile + 1  # blocks
    return 4 * (across * m * k + down * k * n)
