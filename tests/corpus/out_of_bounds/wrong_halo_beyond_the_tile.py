# verdict: out-of-bounds
# The tile has one place per thread, and the neighbour's is the next.
@cuda.jit
def blur_with_short_tile(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i]
    cuda.syncthreads()

    out[i] = tile[t] + tile[t + 1]  # <- here


CHECK = dict(
    spec=lambda x: x + np.roll(x, -1),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[128],
    launch=lambda n: (n // 64, 64),
)
