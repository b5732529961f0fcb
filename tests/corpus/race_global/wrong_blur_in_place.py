# verdict: race
# Each thread replaces its own element only.
@cuda.jit
def blur_in_place(n, out):
    i = cuda.grid(1)
    if 0 < i < n - 1:
        out[i] = (out[i - 1] + out[i] + out[i + 1]) / float32(3)  # <- here


CHECK = dict(
    spec=lambda n: np.arange(n, dtype=np.float32),
    inputs=lambda rng, n: n,
    sizes=[300],
    launch=lambda n: (-(-n // 128), 128),
    out=lambda n: np.arange(n, dtype=np.float32),
)
