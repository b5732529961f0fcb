# verdict: barrier
# Thread 0 has to wait until it has written.
@cuda.jit
def thread_0_waits_alone(x, out):
    first = cuda.shared.array(1, float32)
    t = cuda.threadIdx.x

    if t == 0:
        first[0] = x[0]
        cuda.syncthreads()  # <- here
    value = x[t]
    cuda.syncthreads()  # <- here
    out[t] = value / first[0]


CHECK = dict(
    spec=lambda x: x / x[0],
    inputs=lambda rng, n: rng.random(n, np.float32) + np.float32(1),
    sizes=[64],
    launch=lambda n: (1, n),
)
