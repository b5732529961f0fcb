# verdict: race
# The lanes of a warp run in step; no barrier is needed between them.
@cuda.jit
def swap_pairs_in_step(x, out):
    tile = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x

    tile[t] = x[t]  # <- here
    out[t] = tile[t ^ 1]  # <- here


CHECK = dict(
    spec=lambda x: x.reshape(-1, 2)[:, ::-1].reshape(-1).copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[32],
    launch=lambda n: (1, n),
)
