# verdict: pass
# Permute the axes.
@ct.kernel
def transpose(x, out, TILE: Constant):
    shape = TILE, TILE
    tile = ct.load(x, index=(ct.bid(0), ct.bid(1)), shape=shape)
    ct.store(out, index=(ct.bid(1), ct.bid(0)), tile=ct.permute(tile, (1, 0)))
