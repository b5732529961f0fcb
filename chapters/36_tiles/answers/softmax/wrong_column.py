# verdict: out-of-bounds
# Exchange row and column in the index of the tile.
@ct.kernel
def softmax(x, out, WIDTH: Constant):
    i = ct.bid(0)

    low = ct.PaddingMode.NEG_INF
    row = ct.load(x, index=(0, i), shape=(1, WIDTH), padding_mode=low)  # <- here
    power = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    total = ct.sum(power, axis=1, keepdims=True)
    ct.store(out, index=(0, i), tile=power / total)
