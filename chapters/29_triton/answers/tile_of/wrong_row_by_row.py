# verdict: answer
# Row by row, as if there were no groups.
def tile_of(number, grid_m, grid_n, group):
    return number // grid_n, number % grid_n
