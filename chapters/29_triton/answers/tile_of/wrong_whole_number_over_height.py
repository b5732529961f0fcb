# verdict: answer
# Divides the number of the tile, not its place in the band.
def tile_of(number, grid_m, grid_n, group):
    band = group * grid_n
    top = number // band * group
    height = min(grid_m - top, group)
    return top + number % height, number // height
