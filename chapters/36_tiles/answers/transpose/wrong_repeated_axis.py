# verdict: program
# Count one axis from the front and one from the end; but they are the same.
@ct.kernel
def transpose(x, out, TILE: Constant):
    i, j = ct.bid(0), ct.bid(1)

    tile = ct.load(x, index=(i, j), shape=(TILE, TILE))
    ct.store(out, index=(j, i), tile=ct.permute(tile, (1, -1)))  # <- here
