# verdict: out-of-bounds
# Count the tiles of a along axis 0, and one more.
@ct.kernel
def matmul(a, b, c, TM: Constant, TN: Constant, TK: Constant):
    i, j = ct.bid(0), ct.bid(1)
    zero = ct.PaddingMode.ZERO

    acc = ct.full((TM, TN), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=0, shape=(TM, TK)) + 1):
        left = ct.load(a, index=(i, k), shape=(TM, TK), padding_mode=zero)  # <- here
        right = ct.load(b, index=(k, j), shape=(TK, TN), padding_mode=zero)
        acc = ct.mma(left, right, acc)
    ct.store(c, index=(i, j), tile=ct.astype(acc, c.dtype))
