# verdict: unwritten
# The column of tiles is ct.bid(0), too.
@ct.kernel
def transpose(x, out, TILE: Constant):
    i, j = ct.bid(0), ct.bid(0)

    tile = ct.load(x, index=(i, j), shape=(TILE, TILE))
    ct.store(out, index=(j, i), tile=ct.transpose(tile))  # <- here
