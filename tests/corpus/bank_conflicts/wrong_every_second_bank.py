# verdict: bank-conflicts
# Two neighbouring values per thread.
@cuda.jit
def sums_and_differences(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    tile[2 * t] = x[t]  # <- here
    tile[2 * t + 1] = -x[t]
    cuda.syncthreads()
    out[t] = tile[t]
    out[t + 64] = tile[t + 64]


CHECK = dict(
    spec=lambda x: np.stack([x, -x], axis=1).reshape(-1),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n),
    limits={"bank_conflicts": 0},
)
