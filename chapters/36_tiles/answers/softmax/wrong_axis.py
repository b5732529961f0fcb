# verdict: wrong-value
# Reduce along the axis that has one element.
@ct.kernel
def softmax(x, out, WIDTH: Constant):
    i = ct.bid(0)

    low = ct.PaddingMode.NEG_INF
    row = ct.load(x, index=(i, 0), shape=(1, WIDTH), padding_mode=low)
    power = ct.exp(row - ct.max(row, axis=0, keepdims=True))
    total = ct.sum(power, axis=0, keepdims=True)
    ct.store(out, index=(i, 0), tile=power / total)  # <- here
