# verdict: unwritten
# Store every tile to the same place.
@ct.kernel
def magnitude(x, y, out, TILE: Constant):
    i = ct.bid(0)

    a = ct.load(x, index=(i,), shape=(TILE,))
    b = ct.load(y, index=(i,), shape=(TILE,))
    ct.store(out, index=(0,), tile=ct.sqrt(a * a + b * b))  # <- here
