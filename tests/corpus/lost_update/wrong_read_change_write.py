# verdict: race
# Read it, change it, write it back: three safe steps.
@cuda.jit
def count_in_three_steps(x, out):
    i = cuda.grid(1)
    if i < x.size and x[i] > float32(0.5):
        count = out[0]  # <- here
        count += 1
        out[0] = count  # <- here


CHECK = dict(
    spec=lambda x: np.array([np.count_nonzero(x > 0.5)], np.int32),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[100],
    launch=lambda n: (-(-n // 64), 64),
    out=lambda x: np.zeros(1, np.int32),
)
