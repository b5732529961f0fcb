# verdict: wrong-value
# Choose no padding; but what is beyond the row can then be anything.
@ct.kernel
def softmax(x, out, WIDTH: Constant):
    i = ct.bid(0)

    row = ct.load(x, index=(i, 0), shape=(1, WIDTH))  # <- here
    power = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    total = ct.sum(power, axis=1, keepdims=True)
    ct.store(out, index=(i, 0), tile=power / total)
