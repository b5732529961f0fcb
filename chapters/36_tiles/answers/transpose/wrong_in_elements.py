# verdict: out-of-bounds
# Count elements instead of tiles.
@ct.kernel
def transpose(x, out, TILE: Constant):
    row, col = ct.bid(0) * TILE, ct.bid(1) * TILE

    tile = ct.load(x, index=(row, col), shape=(TILE, TILE))  # <- here
    ct.store(out, index=(col, row), tile=ct.transpose(tile))
