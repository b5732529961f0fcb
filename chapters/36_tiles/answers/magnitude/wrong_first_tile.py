# verdict: wrong-value
# Load the first tile of y in every block.
@ct.kernel
def magnitude(x, y, out, TILE: Constant):
    i = ct.bid(0)

    a = ct.load(x, index=(i,), shape=(TILE,))
    b = ct.load(y, index=(0,), shape=(TILE,))
    ct.store(out, index=(i,), tile=ct.sqrt(a * a + b * b))  # <- here
