# verdict: race
# syncwarp is the cheaper syncthreads.
@cuda.jit
def reverse_with_syncwarp(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x

    tile[t] = x[t]  # <- here
    cuda.syncwarp()
    out[t] = tile[63 - t]  # <- here


CHECK = dict(
    spec=lambda x: x[::-1].copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n),
)
