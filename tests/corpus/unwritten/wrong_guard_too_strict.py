# verdict: unwritten
# The last index is size - 1, so i stays below that.
@cuda.jit
def double_all_but_one(x, out):
    i = cuda.grid(1)
    if i < x.size - 1:
        out[i] = float32(2) * x[i]  # <- here


CHECK = dict(
    spec=lambda x: 2 * x,
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[100],
    launch=lambda n: (-(-n // 64), 64),
)
