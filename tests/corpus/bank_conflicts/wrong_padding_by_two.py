# verdict: bank-conflicts
# More padding is better than less.
@cuda.jit
def transpose_in_34_columns(x, out):
    tile = cuda.shared.array((32, 34), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    for k in range(ty, 32, 8):
        tile[k, tx] = x[k, tx]
    cuda.syncthreads()
    for k in range(ty, 32, 8):
        out[k, tx] = tile[tx, k]  # <- here


CHECK = dict(
    spec=lambda x: x.T.copy(),
    inputs=lambda rng, n: rng.random((n, n), np.float32),
    sizes=[32],
    launch=lambda n: (1, (n, 8)),
    limits={"bank_conflicts": 0},
)
