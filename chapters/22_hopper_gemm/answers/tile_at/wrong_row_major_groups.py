# verdict: wrong-value
# Within a group, go row by row.
def tile_at(number, rows, cols, group):
    """Return the row and the column of a tile in serpentine order."""
    which, inside = divmod(number, group * cols)
    height = min(rows - which * group, group)
    col = inside % cols
    if which % 2:
        col = cols - 1 - col
    return which * group + inside % height, col
