# verdict: answer
# Takes the height of the grid, not what is left of it.
def tile_of(number, grid_m, grid_n, group):
    band = group * grid_n
    top = number // band * group
    height = min(grid_m, group)
    inside = number % band
    return top + inside % height, inside // height
