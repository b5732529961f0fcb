# verdict: pass
# Everyone tries; the atomic maximum lets the largest win.
@cuda.jit
def largest_by_atomics(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.max(out, 0, x[i])


CHECK = dict(
    spec=lambda x: x.max(keepdims=True),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[1, 200],
    launch=lambda n: (-(-n // 64), 64),
    out=lambda x: np.zeros(1, np.float32),
)
