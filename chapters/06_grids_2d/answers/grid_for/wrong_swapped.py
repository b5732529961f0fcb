# verdict: launch
# The shape is (rows, cols), so rows first.
def grid_for(rows, cols):
    """Return (grid, block), two pairs, with one thread for each pixel."""
    block = (32, 8)
    return (-(-rows // 32), -(-cols // 8)), block  # <- here
