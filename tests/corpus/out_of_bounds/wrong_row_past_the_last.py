# verdict: out-of-bounds
# A row is a view; asking for one does no harm yet.
@cuda.jit
def sum_of_unguarded_row(x, out):
    row = x[cuda.grid(1)]  # <- here
    total = float32(0)
    for k in range(row.size):
        total += row[k]
    out[cuda.grid(1)] = total


CHECK = dict(
    spec=lambda x: x.sum(axis=1),
    inputs=lambda rng, n: rng.random((n, 5), np.float32),
    sizes=[40],
    launch=lambda n: (-(-n // 32), 32),
)
