# verdict: pass
# Clear, count, read, with a barrier between the steps.
@cuda.jit
def count_between_barriers(x, out):
    count = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        count[0] = 0
    cuda.syncthreads()

    if x[t] > float32(0.5):
        cuda.atomic.add(count, 0, 1)
    cuda.syncthreads()

    out[t] = count[0]


CHECK = dict(
    spec=lambda x: np.full(x.size, np.count_nonzero(x > 0.5), np.int32),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n),
)
