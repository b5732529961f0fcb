# verdict: race
# The threads at the ends load the halo; everyone else has waited already.
@cuda.jit
def blur_with_late_halo(x, out):
    tile = cuda.shared.array(66, float32)
    t = cuda.threadIdx.x

    tile[t + 1] = x[t + 1]
    cuda.syncthreads()
    if t == 0:
        tile[65] = x[65]
    if t == 63:
        tile[0] = x[0]  # <- here

    out[t] = tile[t] + tile[t + 1] + tile[t + 2]  # <- here


CHECK = dict(
    spec=lambda x: x[:-2] + x[1:-1] + x[2:],
    inputs=lambda rng, n: rng.random(n + 2, np.float32),
    sizes=[64],
    launch=lambda n: (1, n),
)
