# verdict: out-of-bounds
# The index is that of an element.
@ct.kernel
def magnitude(x, y, out, TILE: Constant):
    i = ct.bid(0) * TILE

    a = ct.load(x, index=(i,), shape=(TILE,))  # <- here
    b = ct.load(y, index=(i,), shape=(TILE,))
    ct.store(out, index=(i,), tile=ct.sqrt(a * a + b * b))
