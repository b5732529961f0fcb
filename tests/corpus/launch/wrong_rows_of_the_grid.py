# verdict: launch
# One row of the grid for every row of the matrix.
@cuda.jit
def copy_a_tall_column(x, out):
    row = cuda.blockIdx.y
    out[row] = x[row]


CHECK = dict(
    spec=lambda x: x.copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[70000],
    launch=lambda n: ((1, n), 1),
)
