# verdict: misaligned
# load4 takes any four neighbours, these as well.
@cuda.jit
def shift_fours_by_one(x, out):
    i = 4 * cuda.grid(1)
    if i + 4 < x.size:
        a, b, c, d = load4(x, i + 1)  # <- here
        store4(out, i, a, b, c, d)


CHECK = dict(
    spec=lambda x: x[1:].copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[129],
    launch=lambda n: (1, 32),
)
