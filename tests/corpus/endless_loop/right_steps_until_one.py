# verdict: pass
# Nobody knows in advance how long it takes, but it ends.
@cuda.jit
def collatz_steps(x, out):
    i = cuda.grid(1)
    if i < x.size:
        value, steps = x[i], 0
        while value != 1:
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            steps += 1
        out[i] = steps


def steps_of(value):
    steps = 0
    while value != 1:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        steps += 1
    return steps


CHECK = dict(
    spec=lambda x: np.array([steps_of(int(v)) for v in x], np.int32),
    inputs=lambda rng, n: rng.integers(1, 1000, n),
    sizes=[1, 64],
    launch=lambda n: (-(-n // 32), 32),
)
