# verdict: wrong-value
# Do not divide by the sum.
@ct.kernel
def softmax(x, out, WIDTH: Constant):
    i = ct.bid(0)

    low = ct.PaddingMode.NEG_INF
    row = ct.load(x, index=(i, 0), shape=(1, WIDTH), padding_mode=low)
    power = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    ct.store(out, index=(i, 0), tile=power)  # <- here
