# verdict: race
# The write is atomic, so nothing gets lost.
@cuda.jit
def sum_by_exchange(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.exch(out, 0, out[0] + x[i])  # <- here


CHECK = dict(
    spec=lambda x: x.sum(keepdims=True).astype(np.int32),
    inputs=lambda rng, n: rng.integers(0, 9, n).astype(np.int32),
    sizes=[100],
    launch=lambda n: (-(-n // 64), 64),
    out=lambda x: np.zeros(1, np.int32),
)
