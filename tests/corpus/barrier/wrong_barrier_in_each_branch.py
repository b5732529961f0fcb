# verdict: barrier
# Every thread meets a barrier, one way or the other.
@cuda.jit
def barrier_in_each_branch(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x

    if t < 32:
        tile[t] = x[t]
        cuda.syncthreads()  # <- here
    else:
        tile[t] = -x[t]
        cuda.syncthreads()  # <- here
    out[t] = tile[63 - t]


CHECK = dict(
    spec=lambda x: np.where(np.arange(64) < 32, -x[::-1], x[::-1]),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n),
)
