# verdict: answer
# Goes through the band row by row.
def tile_of(number, grid_m, grid_n, group):
    band = group * grid_n
    top = number // band * group
    inside = number % band
    return top + inside // grid_n, inside % grid_n
