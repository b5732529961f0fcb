# verdict: unwritten
# The border has no neighbours, so there is nothing to compute.
@cuda.jit
def blur_inside_only(x, out):
    col, row = cuda.grid(2)
    if 0 < row < x.shape[0] - 1 and 0 < col < x.shape[1] - 1:
        out[row, col] = (x[row, col - 1] + x[row, col + 1]) / float32(2)  # <- here


CHECK = dict(
    spec=lambda x: (np.roll(x, 1, 1) + np.roll(x, -1, 1)) / 2,
    inputs=lambda rng, n: rng.random((n, n), np.float32),
    sizes=[20],
    launch=lambda n: ((-(-n // 16), -(-n // 16)), (16, 16)),
)
