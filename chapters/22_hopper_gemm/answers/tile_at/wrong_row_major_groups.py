# verdict: wrong-value
# Within a group, go row by row.
def tile_at(number, rows, cols, group):
    """Return the row and the column of a tile in serpentine order."""
    which, inside = divmod(number, group * cols)
    row, col = divmod(inside, cols)
    if which % 2:
        col = cols - 1 - col
    return which * group + row, col
