# verdict: pass
# All 32 lanes take part; lane 0 ends up with the sum.
@cuda.jit
def sum_by_shuffles(x, out):
    i = cuda.grid(1)
    value = x[i] if i < x.size else float32(0)
    step = 16
    while step > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
        step //= 2
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, value)


CHECK = dict(
    spec=lambda x: x.sum(keepdims=True),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[1, 300],
    launch=lambda n: (-(-n // 128), 128),
    out=lambda x: np.zeros(1, np.float32),
)
