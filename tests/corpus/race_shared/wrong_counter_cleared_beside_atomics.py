# verdict: race
# Thread 0 comes first, so the counter is 0 before anyone adds to it.
@cuda.jit
def clear_and_count(x, out):
    count = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x

    if t == 0:
        count[0] = 0  # <- here
    cuda.atomic.add(count, 0, 1)  # <- here
    cuda.syncthreads()

    out[t] = x[t] * count[0]


CHECK = dict(
    spec=lambda x: x * x.size,
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n),
)
