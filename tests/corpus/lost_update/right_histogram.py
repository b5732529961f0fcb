# verdict: pass
# The same bins, with atomic additions.
@cuda.jit
def histogram_by_atomics(x, out):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(out, x[i], 1)


CHECK = dict(
    spec=lambda x: np.bincount(x, minlength=16).astype(np.int32),
    inputs=lambda rng, n: rng.integers(0, 16, n).astype(np.int32),
    sizes=[1, 200],
    launch=lambda n: (2, 32),
    out=lambda x: np.zeros(16, np.int32),
)
