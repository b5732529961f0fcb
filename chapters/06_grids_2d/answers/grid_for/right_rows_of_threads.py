# verdict: pass
# A block is a row of 64 threads; its y is 1 and may be left out.
def grid_for(rows, cols):
    """Return (grid, block), two pairs, with one thread for each pixel."""
    return (-(-cols // 64), rows), 64
