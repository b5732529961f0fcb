# verdict: wrong-value
# In odd groups, the rows go back as well.
def tile_at(number, rows, cols, group):
    """Return the row and the column of a tile in serpentine order."""
    which, inside = divmod(number, group * cols)
    height = min(rows - which * group, group)
    col = inside // height
    if which % 2:
        col = cols - 1 - col
    row = inside % height
    if which % 2:
        row = height - 1 - row
    return which * group + row, col
