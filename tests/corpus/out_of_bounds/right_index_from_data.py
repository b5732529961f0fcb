# verdict: pass
# Whatever the index says is kept inside before it is used.
@cuda.jit
def gather_clipped(x, index, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[min(max(index[i], 0), x.size - 1)]


CHECK = dict(
    spec=lambda x, index: x[np.clip(index, 0, x.size - 1).astype(int)],
    inputs=lambda rng, n: (
        rng.random(n, np.float32),
        rng.integers(-n, 2 * n, 2 * n).astype(np.int32),
    ),
    sizes=[1, 100],
    launch=lambda n: (-(-2 * n // 64), 64),
)
