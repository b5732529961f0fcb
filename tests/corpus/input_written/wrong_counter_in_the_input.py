# verdict: input-written
# Mark what has been handled, so that it is not counted twice.
@cuda.jit
def mark_and_count(x, out):
    i = cuda.grid(1)
    if i < x.size and x[i] > 0:
        cuda.atomic.add(out, 0, 1)
        cuda.atomic.exch(x, i, 0)  # <- here


CHECK = dict(
    spec=lambda x: np.array([np.count_nonzero(x > 0)], np.int32),
    inputs=lambda rng, n: rng.integers(-5, 5, n).astype(np.int32),
    sizes=[100],
    launch=lambda n: (-(-n // 64), 64),
    out=lambda x: np.zeros(1, np.int32),
)
