# verdict: pass
# One row of pixels to a block; y is 1 and may be left out.
def grid_for(rows, cols):
    """Return (grid, block), two pairs, with a thread for each pixel."""
    return (-(-cols // 64), rows), 64
