# verdict: pass
# Start with the bias in the accumulator, and multiply by a sigmoid.
@ct.kernel
def dense(x, w, bias, out, TM: Constant, TN: Constant, TK: Constant):
    i, j = ct.bid(0), ct.bid(1)
    zero = ct.PaddingMode.ZERO

    row = ct.load(bias, index=(j,), shape=(TN,)).astype(ct.float32)
    acc = ct.broadcast_to(row.reshape((1, TN)), (TM, TN))
    for k in range(ct.num_tiles(w, axis=0, shape=(TK, TN))):
        p = ct.load(x, index=(i, k), shape=(TM, TK), padding_mode=zero)
        q = ct.load(w, index=(k, j), shape=(TK, TN), padding_mode=zero)
        acc = ct.mma(p, q, acc)

    sigmoid = 1 / (1 + ct.exp(-acc))
    ct.store(out, index=(i, j), tile=(acc * sigmoid).astype(out.dtype))
