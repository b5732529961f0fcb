# verdict: pass
# Each block counts in shared memory, then adds its counts to the total.
@cuda.jit
def histogram_in_two_levels(x, out):
    bins = cuda.shared.array(16, int32)
    t = cuda.threadIdx.x
    if t < 16:
        bins[t] = 0
    cuda.syncthreads()

    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins, x[i], 1)
    cuda.syncthreads()

    if t < 16:
        cuda.atomic.add(out, t, bins[t])


CHECK = dict(
    spec=lambda x: np.bincount(x, minlength=16).astype(np.int32),
    inputs=lambda rng, n: rng.integers(0, 16, n).astype(np.int32),
    sizes=[1, 200],
    launch=lambda n: (-(-n // 64), 64),
    out=lambda x: np.zeros(16, np.int32),
)
