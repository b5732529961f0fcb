# verdict: launch
# 64 is below 1024, in both directions.
@cuda.jit
def copy_in_large_squares(x, out):
    col, row = cuda.grid(2)
    out[row, col] = x[row, col]


CHECK = dict(
    spec=lambda x: x.copy(),
    inputs=lambda rng, n: rng.random((n, n), np.float32),
    sizes=[64],
    launch=lambda n: (1, (n, n)),
)
