# verdict: pass
# 16 bytes per lane are 16 sectors per request, and not one too many.
@cuda.jit
def double_in_fours(x, out):
    i = 4 * cuda.grid(1)
    if i + 3 < x.size:
        a, b, c, d = load4(x, i)
        store4(out, i, a + a, b + b, c + c, d + d)


CHECK = dict(
    spec=lambda x: 2 * x,
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[256],
    launch=lambda n: (n // 256, 64),
    limits={"sectors": 16},
)
