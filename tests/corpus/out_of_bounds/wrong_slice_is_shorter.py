# verdict: out-of-bounds
# rest is x without its first element; it still goes up to x.size.
@cuda.jit
def difference_by_slice(x, out):
    i = cuda.grid(1)
    rest = x[1:]
    if i < x.size:
        out[i] = rest[i] - x[i]  # <- here


CHECK = dict(
    spec=lambda x: np.append(x[1:], x[:1] * 0) - x,
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[200],
    launch=lambda n: (-(-n // 64), 64),
)
