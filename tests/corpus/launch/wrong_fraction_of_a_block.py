# verdict: launch
# n elements in blocks of 128 are n / 128 blocks.
@cuda.jit
def copy_by_divided_grid(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]


CHECK = dict(
    spec=lambda x: x.copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[1000],
    launch=lambda n: (n / 128, 128),
)
