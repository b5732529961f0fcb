# verdict: wrong-value
# The mean of whole numbers, divided by how many there are.
@cuda.jit
def mean_by_whole_division(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        total = 0
        for k in range(x.shape[1]):
            total += x[i, k]
        out[i] = total // x.shape[1]  # <- here


CHECK = dict(
    spec=lambda x: x.mean(axis=1).astype(np.float32),
    inputs=lambda rng, n: rng.integers(0, 100, (n, 4)).astype(np.int32),
    sizes=[40],
    launch=lambda n: (1, 64),
)
