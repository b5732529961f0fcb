# verdict: race
# Two names for the dynamic memory: two arrays.
@cuda.jit
def reverse_and_shift(x, out):
    first = cuda.shared.array(0, float32)
    second = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x

    first[t] = x[t]
    cuda.syncthreads()
    a = first[63 - t]  # <- here
    second[t] = float32(2) * x[t]  # <- here
    cuda.syncthreads()
    out[t] = a + second[(t + 1) % 64]


CHECK = dict(
    spec=lambda x: x[::-1] + 2 * np.roll(x, -1),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n, 0, 4 * n),
)
