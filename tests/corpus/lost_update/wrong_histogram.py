# verdict: race
# Add one to the bin; there are plenty of bins.
@cuda.jit
def histogram_by_plus(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[x[i]] += 1  # <- here


CHECK = dict(
    spec=lambda x: np.bincount(x, minlength=16).astype(np.int32),
    inputs=lambda rng, n: rng.integers(0, 16, n).astype(np.int32),
    sizes=[200],
    launch=lambda n: (-(-n // 64), 64),
    out=lambda x: np.zeros(16, np.int32),
)
