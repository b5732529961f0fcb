# verdict: wrong-value
# In every second column, the rows go up.
def tile_at(number, rows, cols, group):
    """Return the row and the column of a tile in serpentine order."""
    which, inside = divmod(number, group * cols)
    height = min(rows - which * group, group)
    col = inside // height
    row = inside % height
    if col % 2:
        row = height - 1 - row
    return which * group + row, col
