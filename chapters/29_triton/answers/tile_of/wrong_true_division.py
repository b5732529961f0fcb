# verdict: answer
# Divides with `/`.
def tile_of(number, grid_m, grid_n, group):
    band = group * grid_n
    top = int(number / band) * group
    height = min(grid_m - top, group)
    inside = number % band
    return top + inside % height, inside / height
