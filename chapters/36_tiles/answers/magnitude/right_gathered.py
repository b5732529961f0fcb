# verdict: pass
# Load and store elements by their indices, not a tile by its number.
@ct.kernel
def magnitude(x, y, out, TILE: Constant):
    where = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)

    a, b = ct.gather(x, where), ct.gather(y, where)
    ct.scatter(out, where, (a * a + b * b) ** 0.5)
