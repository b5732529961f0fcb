# verdict: race
# The store to the tile comes first in the code, so it comes first.
@cuda.jit
def reverse_without_barrier(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x

    tile[t] = x[t]  # <- here
    out[t] = tile[63 - t]  # <- here


CHECK = dict(
    spec=lambda x: x[::-1].copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n),
)
