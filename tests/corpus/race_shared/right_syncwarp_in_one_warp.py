# verdict: pass
# The readers and the writers are lanes of one warp, and syncwarp makes them wait.
@cuda.jit
def reverse_each_warp(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    start = t - cuda.laneid

    tile[t] = x[t]
    cuda.syncwarp()
    out[t] = tile[start + 31 - cuda.laneid]


CHECK = dict(
    spec=lambda x: x.reshape(-1, 32)[:, ::-1].reshape(-1).copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[128],
    launch=lambda n: (1, n),
)
