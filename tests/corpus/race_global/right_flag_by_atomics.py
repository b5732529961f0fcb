# verdict: pass
# The same value from many threads, each time by an atomic operation.
@cuda.jit
def flag_with_atomics(x, out):
    i = cuda.grid(1)
    if i < x.size and x[i] > float32(0.5):
        cuda.atomic.or_(out, 0, 1)


CHECK = dict(
    spec=lambda x: np.array([(x > 0.5).any()], np.int32),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[1, 200],
    launch=lambda n: (-(-n // 64), 64),
    out=lambda x: np.zeros(1, np.int32),
)
