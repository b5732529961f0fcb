# verdict: pass
# Threads without an element leave at once, before they touch anything.
@cuda.jit
def add_and_return(a, b, out):
    i = cuda.grid(1)
    if i >= out.size:
        return
    out[i] = a[i] + b[i]


CHECK = dict(
    spec=lambda a, b: a + b,
    inputs=lambda rng, n: (rng.random(n, np.float32), rng.random(n, np.float32)),
    sizes=[1, 127, 1000],
    launch=lambda n: (-(-n // 128), 128),
)
