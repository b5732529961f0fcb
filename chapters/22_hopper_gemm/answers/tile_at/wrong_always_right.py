# verdict: wrong-value
# All groups go from left to right.
def tile_at(number, rows, cols, group):
    """Return the row and the column of a tile in serpentine order."""
    which, inside = divmod(number, group * cols)
    height = min(rows - which * group, group)
    col = inside // height
    if False:
        col = cols - 1 - col
    return which * group + inside % height, col
