# verdict: warp
# 48 threads are two warps, and a warp has 32 lanes.
@cuda.jit
def sums_of_48_threads(x, out):
    t = cuda.threadIdx.x
    value = x[t]
    step = 16
    while step > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)  # <- here
        step //= 2
    if cuda.laneid == 0:
        out[t // 32] = value


CHECK = dict(
    spec=lambda x: np.array([x[:32].sum(), x[32:].sum()], x.dtype),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[48],
    launch=lambda n: (1, n),
)
