# verdict: pass
# Go group by group, and then divide.
def tile_at(number, rows, cols, group):
    """Return the row and the column of a tile in serpentine order."""
    first, forwards = 0, True
    while number >= min(group, rows - first) * cols:
        number -= min(group, rows - first) * cols
        first, forwards = first + group, not forwards
    col, row = divmod(number, min(group, rows - first))
    return first + row, col if forwards else cols - 1 - col
