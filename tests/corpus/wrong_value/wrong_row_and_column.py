# verdict: wrong-value
# Reading down the tile and writing along the row: that is a transpose.
@cuda.jit
def transpose_of_nothing(x, out):
    tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = x[ty, tx]  # <- here
    cuda.syncthreads()
    out[ty, tx] = tile[ty, tx]  # <- here


CHECK = dict(
    spec=lambda x: x.T.copy(),
    inputs=lambda rng, n: rng.random((n, n), np.float32),
    sizes=[16],
    launch=lambda n: (1, (n, n)),
)
