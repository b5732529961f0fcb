# verdict: launch
# A thread for each pixel of a 64 x 64 piece.
def grid_for(rows, cols):
    """Return (grid, block), two pairs, with one thread for each pixel."""
    return (-(-cols // 64), -(-rows // 64)), (64, 64)  # <- here
