# verdict: race
# Thread 0 runs first and leaves the value for the others.
@cuda.jit
def divide_by_first(x, out):
    first = cuda.shared.array(1, float32)
    t = cuda.threadIdx.x

    if t == 0:
        first[0] = x[0]  # <- here
    out[t] = x[t] / first[0]  # <- here


CHECK = dict(
    spec=lambda x: x / x[0],
    inputs=lambda rng, n: rng.random(n, np.float32) + np.float32(1),
    sizes=[64],
    launch=lambda n: (1, n),
)
