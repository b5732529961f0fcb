# verdict: pass
# Every axis has its own guard.
@cuda.jit
def scale_volume(x, out):
    i, j, k = cuda.grid(3)
    if k < x.shape[0] and j < x.shape[1] and i < x.shape[2]:
        out[k, j, i] = float32(2) * x[k, j, i]


CHECK = dict(
    spec=lambda x: 2 * x,
    inputs=lambda rng, m, n, p: rng.random((m, n, p), np.float32),
    sizes=[(1, 1, 1), (3, 5, 9)],
    launch=lambda m, n, p: ((-(-p // 8), -(-n // 4), -(-m // 2)), (8, 4, 2)),
)
