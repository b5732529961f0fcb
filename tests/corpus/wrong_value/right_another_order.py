# verdict: pass
# The sums are added up from the other end; floats allow for that.
@cuda.jit
def row_sums_backwards(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        total = float32(0)
        for k in range(x.shape[1] - 1, -1, -1):
            total += x[i, k]
        out[i] = total


CHECK = dict(
    spec=lambda x: x.sum(axis=1),
    inputs=lambda rng, n: rng.random((n, 100), np.float32),
    sizes=[1, 40],
    launch=lambda n: (1, 64),
)
