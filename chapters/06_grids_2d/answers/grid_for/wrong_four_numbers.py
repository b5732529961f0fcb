# verdict: launch
# Return the four numbers in a row, as the text names them.
def grid_for(rows, cols):
    """Return (grid, block), two pairs, with one thread for each pixel."""
    return -(-cols // 32), -(-rows // 8), 32, 8  # <- here
