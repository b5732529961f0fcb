# verdict: pass
# Multiply with @, and add in float32.
@ct.kernel
def matmul(a, b, c, TM: Constant, TN: Constant, TK: Constant):
    i, j = ct.bid(0), ct.bid(1)
    zero = ct.PaddingMode.ZERO

    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.cdiv(b.shape[0], TK)):
        left = ct.load(a, index=(i, k), shape=(TM, TK), padding_mode=zero)
        right = ct.load(b, index=(k, j), shape=(TK, TN), padding_mode=zero)
        acc += ct.astype(left, ct.float32) @ ct.astype(right, ct.float32)
    ct.store(c, index=(i, j), tile=acc.astype(c.dtype))
