# verdict: negative-index
# In the tile, the left neighbour of t is t - 1.
@cuda.jit
def blur_without_left_halo(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i]
    cuda.syncthreads()

    out[i] = tile[t] + tile[t - 1]  # <- here


CHECK = dict(
    spec=lambda x: x + np.roll(x, 1),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, 64),
)
