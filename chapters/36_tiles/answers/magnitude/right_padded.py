# verdict: pass
# Choose a padding, and use powers instead of products.
@ct.kernel
def magnitude(x, y, out, TILE: Constant):
    zero = ct.PaddingMode.ZERO
    a = ct.load(x, index=ct.bid(0), shape=TILE, padding_mode=zero)
    b = ct.load(y, index=ct.bid(0), shape=TILE, padding_mode=zero)
    squares = ct.pow(a, 2) + ct.pow(b, 2)
    ct.store(out, index=ct.bid(0), tile=ct.sqrt(squares))
