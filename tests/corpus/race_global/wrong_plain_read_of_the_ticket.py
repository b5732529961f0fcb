# verdict: race
# Count myself, then check whether all are done.
@cuda.jit
def last_by_reading_the_count(x, count, out):
    i = cuda.grid(1)
    cuda.atomic.add(count, 0, 1)  # <- here
    if count[0] == x.size:  # <- here
        out[0] = x[i]


CHECK = dict(
    spec=lambda x: (np.array([x.size], np.int32), x[-1:].copy()),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (2, n // 2),
    out=lambda x: (np.zeros(1, np.int32), np.zeros(1, np.float32)),
)
