# verdict: launch
# The grid is the answer; the block is as in the text.
def grid_for(rows, cols):
    """Return (grid, block), two pairs, with one thread for each pixel."""
    return -(-cols // 32), -(-rows // 8)  # <- here
