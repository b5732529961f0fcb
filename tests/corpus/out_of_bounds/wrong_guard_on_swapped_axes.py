# verdict: out-of-bounds
# x is the first axis, so it is guarded by shape[0].
@cuda.jit
def scale_with_swapped_guard(x, out):
    col, row = cuda.grid(2)
    if col < x.shape[0] and row < x.shape[1]:
        out[row, col] = 2 * x[row, col]  # <- here


CHECK = dict(
    spec=lambda x: 2 * x,
    inputs=lambda rng, m, n: rng.random((m, n), np.float32),
    sizes=[(16, 16), (20, 33)],
    launch=lambda m, n: ((-(-n // 16), -(-m // 16)), (16, 16)),
)
