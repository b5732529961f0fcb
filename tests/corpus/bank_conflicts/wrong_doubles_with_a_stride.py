# verdict: bank-conflicts
# Eight bytes span two banks, so every second double has its own banks.
@cuda.jit
def doubles_two_apart(x, out):
    tile = cuda.shared.array(128, float64)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    tile[t + 64] = x[t + 64]
    cuda.syncthreads()
    out[t] = tile[2 * t]  # <- here


CHECK = dict(
    spec=lambda x: x[::2].copy(),
    inputs=lambda rng, n: rng.random(2 * n),
    sizes=[64],
    launch=lambda n: (1, n),
    limits={"bank_conflicts": 0},
)
