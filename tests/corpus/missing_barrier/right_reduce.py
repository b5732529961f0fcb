# verdict: pass
# The barrier is outside the if, so the idle threads come to it as well.
@cuda.jit
def reduce_in_a_block(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t] if t < x.size else float32(0)
    cuda.syncthreads()

    step = 64
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
    sizes=[1, 100],
    launch=lambda n: (1, 128),
)
