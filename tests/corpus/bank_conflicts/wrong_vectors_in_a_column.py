# verdict: bank-conflicts
# 16 bytes per lane, one row of the tile each.
@cuda.jit
def columns_of_vectors(x, out):
    tile = cuda.shared.array((32, 32), float32)
    t = cuda.threadIdx.x
    for k in range(32):
        tile[k, t] = x[k, t]
    cuda.syncthreads()
    a, b, c, d = load4(tile, (t, 4))  # <- here
    store4(out, (t, 0), a, b, c, d)


CHECK = dict(
    spec=lambda x: x[:, 4:8].copy(),
    inputs=lambda rng, n: rng.random((n, n), np.float32),
    sizes=[32],
    launch=lambda n: (1, n),
    limits={"bank_conflicts": 0},
)
