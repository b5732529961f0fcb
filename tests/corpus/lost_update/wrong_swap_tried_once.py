# verdict: wrong-value
# compare-and-swap does not lose an update: it refuses.
@cuda.jit
def largest_by_one_swap(x, out):
    i = cuda.grid(1)
    if i < x.size:
        old = out[0]
        if x[i] > old:
            cuda.atomic.cas(out, 0, old, x[i])  # <- here


CHECK = dict(
    spec=lambda x: x.max(keepdims=True),
    inputs=lambda rng, n: rng.integers(1, 1000, n).astype(np.int32),
    sizes=[100],
    launch=lambda n: (-(-n // 64), 64),
    out=lambda x: np.zeros(1, np.int32),
)
