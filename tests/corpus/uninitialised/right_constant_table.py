# verdict: pass
# The weights are constants of the kernel; no thread has to write them.
WEIGHTS = np.array([0.25, 0.5, 0.25], np.float32)


@cuda.jit
def smooth_by_table(x, out):
    table = cuda.const.array_like(WEIGHTS)
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(3):
            total += table[k] * x[i + k]
        out[i] = total


CHECK = dict(
    spec=lambda x: 0.25 * x[:-2] + 0.5 * x[1:-1] + 0.25 * x[2:],
    inputs=lambda rng, n: rng.random(n + 2, np.float32),
    sizes=[1, 60],
    launch=lambda n: (1, 64),
)
