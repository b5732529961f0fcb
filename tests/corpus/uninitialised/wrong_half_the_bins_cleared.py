# verdict: uninitialised
# Each thread clears its bin.
@cuda.jit
def histogram_of_64_bins(x, out):
    bins = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    bins[t] = 0  # <- here
    cuda.syncthreads()

    for i in range(t, x.size, 32):
        cuda.atomic.add(bins, x[i], 1)  # <- here
    cuda.syncthreads()

    out[t] = bins[t]
    out[t + 32] = bins[t + 32]


CHECK = dict(
    spec=lambda x: np.bincount(x, minlength=64).astype(np.int32),
    inputs=lambda rng, n: rng.integers(0, 64, n).astype(np.int32),
    sizes=[200],
    launch=lambda n: (1, 32),
)
