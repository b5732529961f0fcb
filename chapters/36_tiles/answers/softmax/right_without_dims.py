# verdict: pass
# Reduce the whole tile to a number, and take powers of 2.
@ct.kernel
def softmax(x, out, WIDTH: Constant):
    i = ct.bid(0)

    low = ct.PaddingMode.NEG_INF
    row = ct.load(x, index=(i, 0), shape=(1, WIDTH), padding_mode=low)
    power = ct.exp2((row - ct.max(row)) * 1.4426950408889634)
    ct.store(out, index=(i, 0), tile=power * (1 / ct.sum(power)))
