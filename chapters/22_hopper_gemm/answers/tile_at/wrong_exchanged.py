# verdict: wrong-value
# Return column and row.
def tile_at(number, rows, cols, group):
    """Return the row and the column of a tile in serpentine order."""
    which, inside = divmod(number, group * cols)
    height = min(rows - which * group, group)
    col = inside // height
    if which % 2:
        col = cols - 1 - col
    return col, which * group + inside % height
