# verdict: uninitialised
# A new array starts at zero, as in NumPy.
@cuda.jit
def two_sums_a_row(x, out):
    sums = cuda.local.array(2, float32)
    i = cuda.grid(1)
    if i < x.shape[0]:
        for k in range(x.shape[1]):
            sums[k % 2] += x[i, k]  # <- here
        out[i] = sums[0] - sums[1]


CHECK = dict(
    spec=lambda x: x[:, ::2].sum(axis=1) - x[:, 1::2].sum(axis=1),
    inputs=lambda rng, n: rng.random((n, 6), np.float32),
    sizes=[40],
    launch=lambda n: (1, 64),
)
