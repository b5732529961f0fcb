# verdict: wrong-value
# The last group is as high as the others.
def tile_at(number, rows, cols, group):
    """Return the row and the column of a tile in serpentine order."""
    which, inside = divmod(number, group * cols)
    height = group
    col = inside // height
    if which % 2:
        col = cols - 1 - col
    return which * group + inside % height, col
