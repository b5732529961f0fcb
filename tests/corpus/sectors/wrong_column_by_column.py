# verdict: sectors
# Thread x goes down the rows; a matrix is rows and columns alike.
@cuda.jit
def copy_down_the_columns(x, out):
    row, col = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        out[row, col] = x[row, col]  # <- here


CHECK = dict(
    spec=lambda x: x.copy(),
    inputs=lambda rng, n: rng.random((n, n), np.float32),
    sizes=[5, 64],
    launch=lambda n: ((-(-n // 32), -(-n // 8)), (32, 8)),
    limits={"sectors": 4},
)
