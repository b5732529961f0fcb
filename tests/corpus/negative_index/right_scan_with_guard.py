# verdict: pass
# Threads without a left neighbour add nothing, but meet the others at the barriers.
@cuda.jit
def scan_with_left_guard(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()

    step = 1
    while step < 64:
        left = float32(0)
        if t >= step:
            left = tile[t - step]
        cuda.syncthreads()
        tile[t] += left
        cuda.syncthreads()
        step *= 2
    out[t] = tile[t]


CHECK = dict(
    spec=lambda x: np.cumsum(x),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n),
)
