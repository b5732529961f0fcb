# verdict: bank-conflicts
# Neighbours first: each step adds values that are twice as far apart.
@cuda.jit
def reduce_interleaved(x, out):
    tile = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()

    step = 1
    while step < 256:
        at = 2 * step * t
        if at < 256:
            tile[at] += tile[at + step]  # <- here
        cuda.syncthreads()
        step *= 2
    if t == 0:
        out[0] = tile[0]


CHECK = dict(
    spec=lambda x: x.sum(keepdims=True),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[256],
    launch=lambda n: (1, n),
    limits={"bank_conflicts": 0},
)
