# verdict: pass
# Subtracts the bands before, and tells the last one by `if`.
def tile_of(number, grid_m, grid_n, group):
    top = number // (group * grid_n) * group
    inside = number - top * grid_n
    height = group
    if grid_m - top < group:
        height = grid_m - top
    col = inside // height
    return top + inside - col * height, col
