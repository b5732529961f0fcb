# verdict: uninitialised
# The padding is there against bank conflicts; it holds zeros.
@cuda.jit
def row_sums_with_padding(x, out):
    tile = cuda.shared.array((16, 17), float32)
    t = cuda.threadIdx.x
    for row in range(16):
        tile[row, t] = x[row, t]  # <- here
    cuda.syncthreads()

    total = float32(0)
    for k in range(tile.shape[1]):
        total += tile[t, k]  # <- here
    out[t] = total


CHECK = dict(
    spec=lambda x: x.sum(axis=1),
    inputs=lambda rng, n: rng.random((n, n), np.float32),
    sizes=[16],
    launch=lambda n: (1, n),
)
