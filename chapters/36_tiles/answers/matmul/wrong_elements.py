# verdict: program
# A sum of outer products: column r of one tile times row r of the other.
@ct.kernel
def matmul(a, b, c, TM: Constant, TN: Constant, TK: Constant):
    i, j = ct.bid(0), ct.bid(1)
    zero = ct.PaddingMode.ZERO
    acc = ct.full((TM, TN), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        ta = ct.load(a, index=(i, k), shape=(TM, TK), padding_mode=zero)
        tk = ct.load(b, index=(k, j), shape=(TK, TN), padding_mode=zero)
        for r in range(TK):
            acc = acc + ta[:, r] * tk[r, :]  # <- here
    ct.store(c, index=(i, j), tile=ct.astype(acc, c.dtype))
