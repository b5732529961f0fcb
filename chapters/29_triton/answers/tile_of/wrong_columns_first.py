# verdict: answer
# Returns the column first.
def tile_of(number, grid_m, grid_n, group):
    band = group * grid_n
    top = number // band * group
    height = min(grid_m - top, group)
    inside = number % band
    return inside // height, top + inside % height
