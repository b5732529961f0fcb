# verdict: pass
# Two threads share a record, but not a field of it.
@cuda.jit
def fields_by_two_threads(x, out):
    i = cuda.grid(1)
    if i % 2 == 0:
        out[i // 2].low = x[i]
    else:
        out[i // 2].high = x[i]


CHECK = dict(
    spec=lambda x: x.astype(np.float32).view([("low", "f4"), ("high", "f4")]),
    inputs=lambda rng, n: rng.random(2 * n, np.float32),
    sizes=[1, 32],
    launch=lambda n: (1, 2 * n),
)
