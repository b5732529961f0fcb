# verdict: race
# Half as many cells as threads: every cell is written twice, with the larger one last.
@cuda.jit
def pair_maximum(x, out):
    best = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x

    if t < 32 or x[t] > x[t - 32]:
        best[t % 32] = x[t]  # <- here
    cuda.syncthreads()

    if t < 32:
        out[t] = best[t]


CHECK = dict(
    spec=lambda x: x.reshape(2, 32).max(axis=0),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n),
)
