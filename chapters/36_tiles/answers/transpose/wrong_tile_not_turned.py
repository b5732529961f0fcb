# verdict: wrong-value
# Move the tiles, and leave them as they are.
@ct.kernel
def transpose(x, out, TILE: Constant):
    i, j = ct.bid(0), ct.bid(1)

    tile = ct.load(x, index=(i, j), shape=(TILE, TILE))
    ct.store(out, index=(j, i), tile=tile)  # <- here
