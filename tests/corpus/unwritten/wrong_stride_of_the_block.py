# verdict: unwritten
# Each thread moves on by the number of threads in a block and a half.
@cuda.jit
def double_by_wrong_stride(x, out):
    for i in range(cuda.grid(1), x.size, 96 * cuda.gridDim.x):
        out[i] = float32(2) * x[i]  # <- here


CHECK = dict(
    spec=lambda x: 2 * x,
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[400],
    launch=lambda n: (2, 64),
)
