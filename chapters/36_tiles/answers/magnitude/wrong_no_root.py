# verdict: wrong-value
# I forgot the root.
@ct.kernel
def magnitude(x, y, out, TILE: Constant):
    i = ct.bid(0)

    a = ct.load(x, index=(i,), shape=(TILE,))
    b = ct.load(y, index=(i,), shape=(TILE,))
    ct.store(out, index=(i,), tile=a * a + b * b)  # <- here
