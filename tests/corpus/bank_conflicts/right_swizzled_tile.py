# verdict: pass
# No padding: the column is mixed with the row, going in and coming out.
@cuda.jit
def transpose_swizzled_by_xor(x, out):
    tile = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    for k in range(ty, 32, 8):
        tile[k, tx ^ k] = x[k, tx]
    cuda.syncthreads()
    for k in range(ty, 32, 8):
        out[k, tx] = tile[tx, k ^ tx]


CHECK = dict(
    spec=lambda x: x.T.copy(),
    inputs=lambda rng, n: rng.random((n, n), np.float32),
    sizes=[32],
    launch=lambda n: (1, (n, 8)),
    limits={"bank_conflicts": 0},
)
