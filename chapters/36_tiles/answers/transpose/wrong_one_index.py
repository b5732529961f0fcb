# verdict: program
# Give a matrix one index.
@ct.kernel
def transpose(x, out, TILE: Constant):
    tile = ct.load(x, index=(ct.bid(0),), shape=(TILE,))  # <- here
    ct.store(out, index=(ct.bid(0),), tile=tile)
