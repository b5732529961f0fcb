# verdict: launch
# One more block in each direction, to be safe.
def grid_for(rows, cols):
    """Return (grid, block), two pairs, with one thread for each pixel."""
    return (cols // 32 + 1, rows // 8 + 1), (32, 8)  # <- here
