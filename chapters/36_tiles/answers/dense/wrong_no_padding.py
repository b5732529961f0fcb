# verdict: wrong-value
# Choose no padding along K.
@ct.kernel
def dense(x, w, bias, out, TM: Constant, TN: Constant, TK: Constant):
    i, j = ct.bid(0), ct.bid(1)

    acc = ct.full((TM, TN), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(x, axis=1, shape=(TM, TK))):
        p = ct.load(x, index=(i, k), shape=(TM, TK))  # <- here
        q = ct.load(w, index=(k, j), shape=(TK, TN))  # <- here
        acc = ct.mma(p, q, acc)

    acc = acc + ct.astype(ct.load(bias, index=(j,), shape=(TN,)), ct.float32)
    acc = acc / (1 + ct.exp(-acc))
    ct.store(out, index=(i, j), tile=ct.astype(acc, out.dtype))
