# verdict: pass
# Grid and block have three sizes each, the last of them 1.
def grid_for(rows, cols):
    """Return (grid, block), two pairs, with one thread for each pixel."""
    block = (32, 4, 1)
    grid = (-(-cols // 32), -(-rows // 4), 1)
    return grid, block
