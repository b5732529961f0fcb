# verdict: answer
# Forgets that the last band may be smaller.
def tile_of(number, grid_m, grid_n, group):
    band = group * grid_n
    top = number // band * group
    inside = number % band
    return top + inside % group, inside // group
