# verdict: uninitialised
# Threads outside the matrix load nothing, so they contribute nothing.
@cuda.jit
def matmul_without_padding(a, b, out):
    tile_a = cuda.shared.array((8, 8), float32)
    tile_b = cuda.shared.array((8, 8), float32)
    col, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y

    total = float32(0)
    for start in range(0, a.shape[1], 8):
        if row < a.shape[0] and start + tx < a.shape[1]:  # <- here
            tile_a[ty, tx] = a[row, start + tx]  # <- here
        if start + ty < b.shape[0] and col < b.shape[1]:
            tile_b[ty, tx] = b[start + ty, col]
        cuda.syncthreads()
        for k in range(8):
            total += tile_a[ty, k] * tile_b[k, tx]  # <- here
        cuda.syncthreads()
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = total


CHECK = dict(
    spec=lambda a, b: a @ b,
    inputs=lambda rng, n: (
        rng.random((n, n), np.float32),
        rng.random((n, n), np.float32),
    ),
    sizes=[8, 5],
    launch=lambda n: (1, (8, 8)),
)
