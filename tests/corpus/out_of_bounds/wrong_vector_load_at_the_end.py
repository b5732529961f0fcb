# verdict: out-of-bounds
# The first of the four is inside, so the load is guarded.
@cuda.jit
def copy_fours_without_tail(x, out):
    i = 4 * cuda.grid(1)
    if i < x.size:
        a, b, c, d = load4(x, i)  # <- here
        store4(out, i, a, b, c, d)


CHECK = dict(
    spec=lambda x: x.copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64, 130],
    launch=lambda n: (1, 64),
)
