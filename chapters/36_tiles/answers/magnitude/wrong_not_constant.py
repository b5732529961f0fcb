# verdict: program
# Leave the annotation out; but the shape of a tile has to be known.
@ct.kernel
def magnitude(x, y, out, TILE):
    i = ct.bid(0)

    a = ct.load(x, index=(i,), shape=(TILE,))  # <- here
    b = ct.load(y, index=(i,), shape=(TILE,))
    ct.store(out, index=(i,), tile=ct.sqrt(a * a + b * b))
