# verdict: pass
# Far neighbours first, so the threads at work stay side by side.
@cuda.jit
def reduce_from_the_middle(x, out):
    tile = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()

    step = 128
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[0] = tile[0]


CHECK = dict(
    spec=lambda x: x.sum(keepdims=True),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[256],
    launch=lambda n: (1, n),
    limits={"bank_conflicts": 0},
)
