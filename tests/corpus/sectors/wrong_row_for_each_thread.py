# verdict: sectors
# Each thread sums its own row, from left to right.
@cuda.jit
def row_sums_thread_by_thread(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        total = float32(0)
        for k in range(x.shape[1]):
            total += x[i, k]  # <- here
        out[i] = total


CHECK = dict(
    spec=lambda x: x.sum(axis=1),
    inputs=lambda rng, n: rng.random((n, 32), np.float32),
    sizes=[64],
    launch=lambda n: (-(-n // 64), 64),
    limits={"sectors": 4},
)
