# verdict: program
# Choose tiles of 100 elements, which is no power of two.
@ct.kernel
def magnitude(x, y, out, TILE: Constant):
    i = ct.bid(0)

    a = ct.load(x, index=(i,), shape=(100,))  # <- here
    b = ct.load(y, index=(i,), shape=(100,))
    ct.store(out, index=(i,), tile=ct.sqrt(a * a + b * b))
