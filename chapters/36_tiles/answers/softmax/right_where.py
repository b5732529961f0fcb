# verdict: pass
# Replace what is beyond the row by hand.
@ct.kernel
def softmax(x, out, WIDTH: Constant):
    i = ct.bid(0)
    col = ct.arange(WIDTH, dtype=ct.int32)

    row = ct.gather(x, (i, col), padding_value=0.0)
    row = ct.where(col < x.shape[1], row, -float("inf"))
    power = ct.exp(row - ct.max(row, axis=0, keepdims=True))
    ct.scatter(out, (i, col), power / ct.sum(power, axis=0, keepdims=True))
