# verdict: out-of-bounds
# One thread per element, so every thread has an element.
@cuda.jit
def add_without_guard(a, b, out):
    i = cuda.grid(1)
    out[i] = a[i] + b[i]  # <- here


CHECK = dict(
    spec=lambda a, b: a + b,
    inputs=lambda rng, n: (rng.random(n, np.float32), rng.random(n, np.float32)),
    sizes=[128, 1000],
    launch=lambda n: (-(-n // 128), 128),
)
