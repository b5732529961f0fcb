# verdict: pass
# Two halves as views, each with its own indices.
@cuda.jit
def add_halves(x, out):
    half = x.size // 2
    low, high = x[:half], x[half:]
    i = cuda.grid(1)
    if i < half:
        out[i] = low[i] + high[i]


CHECK = dict(
    spec=lambda x: x[: x.size // 2] + x[x.size // 2 :],
    inputs=lambda rng, n: rng.random(2 * n, np.float32),
    sizes=[1, 90],
    launch=lambda n: (-(-n // 64), 64),
)
