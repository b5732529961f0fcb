# verdict: answer
# Takes the number of the band for its first row.
def tile_of(number, grid_m, grid_n, group):
    band = group * grid_n
    top = number // band
    height = min(grid_m - top * group, group)
    inside = number % band
    return top + inside % height, inside // height
