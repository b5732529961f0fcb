# verdict: negative-index
# Each step adds the value `step` places to the left.
@cuda.jit
def scan_without_left_guard(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()

    step = 1
    while step < 64:
        left = tile[t - step]  # <- here
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
