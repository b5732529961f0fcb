# verdict: launch
# Works the launch out and keeps it.
def grid_for(rows, cols):
    """Return (grid, block), two pairs, with a thread for each pixel."""
    block = 32, 8
    grid = (cols + 31) // 32, (rows + 7) // 8
