# verdict: library
# The function that counts block by block is in the next cell.
def traffic(m, n, k, tile):
    """Return the bytes of a and b that blocks of tile x tile elements load."""
    return counted(m, n, k, tile)  # <- here
