# verdict: out-of-bounds
# The guard covers i, and i + 1 is right beside it.
@cuda.jit
def difference_to_the_right(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i + 1] - x[i]  # <- here


CHECK = dict(
    spec=lambda x: np.append(x[1:], x[:1] * 0) - x,
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[500],
    launch=lambda n: (-(-n // 128), 128),
)
