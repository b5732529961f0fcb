# verdict: pass
# Whole groups of four are loaded as vectors, and the rest one by one.
@cuda.jit
def copy_fours_with_tail(x, out):
    i = 4 * cuda.grid(1)
    if i + 3 < x.size:
        a, b, c, d = load4(x, i)
        store4(out, i, a, b, c, d)
    else:
        for k in range(i, x.size):
            out[k] = x[k]


CHECK = dict(
    spec=lambda x: x.copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[1, 64, 131],
    launch=lambda n: (-(-n // 128), 32),
)
