# verdict: sectors
# The loads are coalesced, and that is half of the traffic.
@cuda.jit
def transpose_by_columns(x, out):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        out[col, row] = x[row, col]  # <- here


CHECK = dict(
    spec=lambda x: x.T.copy(),
    inputs=lambda rng, n: rng.random((n, n), np.float32),
    sizes=[5, 64],
    launch=lambda n: ((-(-n // 32), -(-n // 8)), (32, 8)),
    limits={"sectors": 4},
)
