# verdict: pass
# The chained remainder of the tutorials.
def tile_of(number, grid_m, grid_n, group):
    band = number // (group * grid_n)
    height = min(grid_m - band * group, group)
    return (
        band * group + number % (group * grid_n) % height,
        number % (group * grid_n) // height,
    )
