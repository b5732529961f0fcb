# verdict: pass
# A barrier after the loads and one after the products.
@cuda.jit
def matmul_in_tiles(a, b, out):
    tile_a = cuda.shared.array((8, 8), float32)
    tile_b = cuda.shared.array((8, 8), float32)
    col, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y

    total = float32(0)
    for start in range(0, a.shape[1], 8):
        tile_a[ty, tx] = float32(0)
        tile_b[ty, tx] = float32(0)
        if row < a.shape[0] and start + tx < a.shape[1]:
            tile_a[ty, tx] = a[row, start + tx]
        if start + ty < b.shape[0] and col < b.shape[1]:
            tile_b[ty, tx] = b[start + ty, col]
        cuda.syncthreads()
        for k in range(8):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = total


CHECK = dict(
    spec=lambda a, b: a @ b,
    inputs=lambda rng, m, k, n: (
        rng.random((m, k), np.float32),
        rng.random((k, n), np.float32),
    ),
    sizes=[(1, 1, 1), (11, 19, 13)],
    launch=lambda m, k, n: ((-(-n // 8), -(-m // 8)), (8, 8)),
)
