# verdict: out-of-bounds
# Exchange the index of the load; but there are not that many tiles.
@ct.kernel
def transpose(x, out, TILE: Constant):
    i, j = ct.bid(0), ct.bid(1)

    tile = ct.load(x, index=(j, i), shape=(TILE, TILE))  # <- here
    ct.store(out, index=(i, j), tile=ct.transpose(tile))
