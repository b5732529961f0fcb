# verdict: pass
# No barrier, because no thread reads what another thread wrote.
@cuda.jit
def powers_in_own_cell(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    for _ in range(3):
        tile[t] *= x[t]
    out[t] = tile[t]


CHECK = dict(
    spec=lambda x: x**4,
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n),
)
