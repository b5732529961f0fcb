# verdict: wrong-value
# Transpose every tile, and store it where it was.
@ct.kernel
def transpose(x, out, TILE: Constant):
    i, j = ct.bid(0), ct.bid(1)

    tile = ct.load(x, index=(i, j), shape=(TILE, TILE))
    ct.store(out, index=(i, j), tile=ct.transpose(tile))  # <- here
