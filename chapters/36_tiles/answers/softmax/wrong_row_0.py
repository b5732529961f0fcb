# verdict: wrong-value
# Load row 0 in every block.
@ct.kernel
def softmax(x, out, WIDTH: Constant):
    i = ct.bid(0)

    low = ct.PaddingMode.NEG_INF
    row = ct.load(x, index=(0, 0), shape=(1, WIDTH), padding_mode=low)
    power = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    total = ct.sum(power, axis=1, keepdims=True)
    ct.store(out, index=(i, 0), tile=power / total)  # <- here
