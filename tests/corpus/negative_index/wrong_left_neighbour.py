# verdict: negative-index
# The guard keeps i below the size.
@cuda.jit
def difference_to_the_left(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] - x[i - 1]  # <- here


CHECK = dict(
    spec=lambda x: x - np.append(x[:1] * 0, x[:-1]),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[500],
    launch=lambda n: (-(-n // 128), 128),
)
