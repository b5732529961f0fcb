# verdict: race
# In shared memory it is fast enough not to collide.
@cuda.jit
def shared_histogram_by_plus(x, out):
    bins = cuda.shared.array(16, int32)
    t = cuda.threadIdx.x
    if t < 16:
        bins[t] = 0
    cuda.syncthreads()

    bins[x[t]] += 1  # <- here
    cuda.syncthreads()

    if t < 16:
        out[t] = bins[t]


CHECK = dict(
    spec=lambda x: np.bincount(x, minlength=16).astype(np.int32),
    inputs=lambda rng, n: rng.integers(0, 16, n).astype(np.int32),
    sizes=[64],
    launch=lambda n: (1, n),
)
