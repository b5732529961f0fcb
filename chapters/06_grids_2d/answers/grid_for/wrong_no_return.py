# verdict: launch
# I compute the grid, but return nothing.
def grid_for(rows, cols):
    """Return (grid, block), two pairs, with one thread for each pixel."""
    block = 32, 8
    grid = (cols + 31) // 32, (rows + 7) // 8
