# verdict: unwritten
# 2 blocks of 64 threads; the guard does the rest.
@cuda.jit
def double_with_too_few(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = float32(2) * x[i]  # <- here


CHECK = dict(
    spec=lambda x: 2 * x,
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[300],
    launch=lambda n: (2, 64),
)
