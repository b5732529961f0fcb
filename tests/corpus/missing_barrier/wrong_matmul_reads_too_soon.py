# verdict: race
# The barrier at the end of the loop keeps the threads together.
@cuda.jit
def matmul_without_first_barrier(a, b, out):
    tile_a = cuda.shared.array((8, 8), float32)
    tile_b = cuda.shared.array((8, 8), float32)
    col, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y

    total = float32(0)
    for start in range(0, a.shape[1], 8):
        tile_a[ty, tx] = a[row, start + tx]
        tile_b[ty, tx] = b[start + ty, col]  # <- here
        for k in range(8):
            total += tile_a[ty, k] * tile_b[k, tx]  # <- here
        cuda.syncthreads()
    out[row, col] = total


CHECK = dict(
    spec=lambda a, b: a @ b,
    inputs=lambda rng, n: (
        rng.random((n, n), np.float32),
        rng.random((n, n), np.float32),
    ),
    sizes=[16],
    launch=lambda n: ((n // 8, n // 8), (8, 8)),
)
