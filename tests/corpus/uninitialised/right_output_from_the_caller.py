# verdict: pass
# The caller hands over an output full of zeros, to be added to.
@cuda.jit
def add_into_zeros(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        for k in range(x.shape[1]):
            out[i] += x[i, k]


CHECK = dict(
    spec=lambda x: x.sum(axis=1),
    inputs=lambda rng, n: rng.random((n, 6), np.float32),
    sizes=[1, 40],
    launch=lambda n: (1, 64),
    out=lambda x: np.zeros(x.shape[0], np.float32),
)
