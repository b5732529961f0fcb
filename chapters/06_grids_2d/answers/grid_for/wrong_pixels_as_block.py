# verdict: launch
# The block is the image.
def grid_for(rows, cols):
    """Return (grid, block), two pairs, with one thread for each pixel."""
    return (1, 1), (cols, rows)  # <- here
