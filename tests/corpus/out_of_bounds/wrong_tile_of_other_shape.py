# verdict: out-of-bounds
# The tile is transposed, so its rows are the block's columns.
@cuda.jit
def transpose_in_narrow_tile(x, out):
    tile = cuda.shared.array((8, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y

    tile[tx, ty] = x[ty, tx]  # <- here
    cuda.syncthreads()

    out[tx, ty] = tile[tx, ty]


CHECK = dict(
    spec=lambda x: x.T.copy(),
    inputs=lambda rng, n: rng.random((8, n), np.float32),
    sizes=[32],
    launch=lambda n: (1, (n, 8)),
)
