# verdict: pass
# 32 threads clear 64 bins, two each.
@cuda.jit
def histogram_cleared_by_stride(x, out):
    bins = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    for k in range(t, 64, 32):
        bins[k] = 0
    cuda.syncthreads()

    for i in range(t, x.size, 32):
        cuda.atomic.add(bins, x[i], 1)
    cuda.syncthreads()

    for k in range(t, 64, 32):
        out[k] = bins[k]


CHECK = dict(
    spec=lambda x: np.bincount(x, minlength=64).astype(np.int32),
    inputs=lambda rng, n: rng.integers(0, 64, n).astype(np.int32),
    sizes=[1, 200],
    launch=lambda n: (1, 32),
)
