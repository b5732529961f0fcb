# verdict: out-of-bounds
# Values from 0 to 1 times 16 give the bins 0 to 15.
@cuda.jit
def histogram_with_full_bin(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, int32(x[i] * float32(16)), 1)  # <- here


CHECK = dict(
    spec=lambda x: np.bincount(np.minimum(x * 16, 15).astype(int), minlength=16),
    inputs=lambda rng, n: np.append(rng.random(n - 1, np.float32), np.float32(1)),
    sizes=[100],
    launch=lambda n: (-(-n // 64), 64),
    out=lambda x: np.zeros(16, np.int64),
)
