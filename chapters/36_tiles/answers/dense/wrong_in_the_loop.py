# verdict: wrong-value
# Add the bias in every step of the loop.
@ct.kernel
def dense(x, w, bias, out, TM: Constant, TN: Constant, TK: Constant):
    i, j = ct.bid(0), ct.bid(1)
    zero = ct.PaddingMode.ZERO
    b = ct.astype(ct.load(bias, index=(j,), shape=(TN,)), ct.float32)

    acc = ct.full((TM, TN), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(x, axis=1, shape=(TM, TK))):
        p = ct.load(x, index=(i, k), shape=(TM, TK), padding_mode=zero)
        q = ct.load(w, index=(k, j), shape=(TK, TN), padding_mode=zero)
        acc = ct.mma(p, q, acc) + b

    acc = acc / (1 + ct.exp(-acc))
    ct.store(out, index=(i, j), tile=ct.astype(acc, out.dtype))  # <- here
