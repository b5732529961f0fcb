# verdict: library
# divmod gives both at once, but Triton does not know it.
def tile_of(number, grid_m, grid_n, group):
    """Return row and column of a tile, given its number in grouped order."""
    band, inside = divmod(number, group * grid_n)  # <- here
    top = band * group
    height = min(grid_m - top, group)
    return top + inside % height, inside // height
