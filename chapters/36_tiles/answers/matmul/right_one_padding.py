# verdict: pass
# Go backwards, and load the tiles inside the call.
@ct.kernel
def matmul(a, b, c, TM: Constant, TN: Constant, TK: Constant):
    i, j = ct.bid(0), ct.bid(1)
    zero = ct.PaddingMode.ZERO

    steps = ct.num_tiles(b, axis=0, shape=(TK, TN))
    acc = ct.full((TM, TN), 0.0, dtype=ct.float32)
    for step in range(steps):
        k = steps - 1 - step
        acc = ct.mma(
            ct.load(a, index=(i, k), shape=(TM, TK), padding_mode=zero),
            ct.load(b, index=(k, j), shape=(TK, TN), padding_mode=zero),
            acc,
        )
    ct.store(c, index=(i, j), tile=ct.astype(acc, ct.float16))
