# verdict: wrong-value
# Pad with zeros; but they are larger than every element.
@ct.kernel
def softmax(x, out, WIDTH: Constant):
    i = ct.bid(0)

    zero = ct.PaddingMode.ZERO
    row = ct.load(x, index=(i, 0), shape=(1, WIDTH), padding_mode=zero)
    power = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    total = ct.sum(power, axis=1, keepdims=True)
    ct.store(out, index=(i, 0), tile=power / total)  # <- here
