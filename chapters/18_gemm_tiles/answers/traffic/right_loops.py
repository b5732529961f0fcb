# verdict: pass
# Add up block by block.
def traffic(m, n, k, tile):
    """Return the bytes of a and b that blocks of tile x tile elements load."""
    total = 0
    for row in range(0, m, tile):
        for col in range(0, n, tile):
            total += min(tile, m - row) * k + min(tile, n - col) * k
    return 4 * total
